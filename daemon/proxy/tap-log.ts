import type { TapDirection, TapFrame } from "./tap-frames.ts";

/** The most bytes of frames in one batch. A full batch is sent at once. */
const batchBytes = 262_144;

/** The space for the records of a batch, in bytes. Records grow from the end of the buffer towards the bytes. */
const recordBytes = 98_304;

const capacity = batchBytes + recordBytes;

/**
 * A batch up to this size is posted as a copy of its own, in bytes. To transfer a whole buffer and its return take about 0.2 ms:
 * most batches of a short call hold a few kilobytes.
 */
const maxCopiedBytes = 32_768;

/** The numbers of a record: connection, kind, time, offset and length. A 64-bit float holds each of them exactly. */
const recordFields = 5;

/** The kinds of records. */
const requestData = 0;
const responseData = 1;
const requestEnded = 2;
const responseEnded = 3;
const noteFrame = 4;
/** The next request was not held. Its offset and length are the number of the request and its slot. */
const passedRequest = 5;

/** A batch of frames, which is transferred between threads. */
export interface TapBatch {
  readonly kind: "batch";
  readonly buffer: ArrayBuffer;
  readonly records: number;
  /** The memory size of the batch in bytes: its whole buffer, however full that is, and its notes. */
  readonly memoryBytes: number;
  /** Whether `reuse()` takes the buffer back. */
  readonly isReusable: boolean;
  /** The frames without bytes, which records refer to. */
  readonly notes: readonly TapFrame[];
}

/** The log's state of a connection. */
export interface LoggedConnection {
  readonly id: number;
  /** When bytes last passed. It shows which connections are idle. */
  lastAtMs: number;
  lost: boolean;
}

/** The writing end of the log. Its functions never throw, wait or keep the bytes they receive. */
export interface TapLog {
  data(connection: LoggedConnection, direction: TapDirection, bytes: Uint8Array): void;
  ended(connection: LoggedConnection, direction: TapDirection): void;
  /** Says that the next request of the connection was not held. */
  passed(connection: LoggedConnection, request: number, slot: number): void;
  /** Adds a frame without bytes, and sends the batch at the end of this turn of the event loop. */
  note(frame: TapFrame): void;
  flush(): void;
  /** Takes back the buffer of a batch that was read, and uses it for a later batch. */
  reuse(buffer: ArrayBuffer): void;
}

/** How many spare buffers are kept. More are left over only after a burst. */
const maxSpareBuffers = 8;

/** While more batches than this are unread, only full ones are sent, so that a stalled reader does not get many small ones. */
const maxPartBatches = 4;

/** The estimated memory size of a note, in bytes. It is generous, since the strings of a note are short. */
const noteBytes = 512;

/** Returns milliseconds since the epoch, from a clock that never steps back. */
export function tapClock(): number {
  return performance.timeOrigin + performance.now();
}

interface TapLogOptions {
  readonly post: (batch: TapBatch) => void;
  /** Two shared counters of what the reader has read: the memory size of the batches in bytes, and their number. */
  readonly acknowledged: Int32Array;
  /** While more bytes than this are unread, new bytes are dropped. */
  readonly maxBacklogBytes: number;
  readonly flushMs: number;
  /** Called once for each connection that lost bytes. */
  readonly onLost: () => void;
}

interface TapLogState extends TapLogOptions {
  readonly spare: ArrayBuffer[];
  /** The batch in progress. `fields` is a view of `buffer`. */
  buffer: Uint8Array<ArrayBuffer>;
  fields: Float64Array<ArrayBuffer>;
  usedBytes: number;
  records: number;
  notes: TapFrame[];
  /** The memory size of the posted batches. It wraps at 2^32, as the shared counter does. */
  postedBytes: number;
  /** The number of posted batches. It wraps too. */
  postedBatches: number;
  timer: NodeJS.Timeout | null;
  immediate: NodeJS.Immediate | null;
  flushedAtMs: number;
}

/**
 * Creates a log that sends batches through `post`: when 256 KiB are full, or `flushMs` after the previous batch, or, if that
 * is longer ago, at the end of the turn. Notes that start a look-up are sent at the end of their turn. While the reader is
 * several batches behind, only full batches are sent. While more than `maxBacklogBytes` are unread, bytes are dropped: each connection that lost
 * bytes is reported once and no longer logged. The relayed bytes never wait for the log.
 */
export function createTapLog(options: TapLogOptions): TapLog {
  const buffer = new Uint8Array(capacity);
  const log: TapLogState = {
    ...options,
    spare: [],
    buffer,
    fields: new Float64Array(buffer.buffer),
    usedBytes: 0,
    records: 0,
    notes: [],
    postedBytes: 0,
    postedBatches: 0,
    timer: null,
    immediate: null,
    flushedAtMs: 0,
  };
  return {
    data: (connection, direction, bytes) => addData(log, connection, direction, bytes),
    ended: (connection, direction) => addEnd(log, connection, direction),
    passed: (connection, request, slot) => addPassed(log, connection, request, slot),
    note: (frame) => addNote(log, frame),
    flush: () => flush(log),
    reuse: (spent) => reuseBuffer(log, spent),
  };
}

function addData(
  log: TapLogState,
  connection: LoggedConnection,
  direction: TapDirection,
  bytes: Uint8Array,
): void {
  const atMs = tapClock();
  connection.lastAtMs = atMs;
  if (connection.lost) return;
  if (isBacklogFull(log)) return dropConnection(log, connection);
  const kind = direction === "request" ? requestData : responseData;
  for (let from = 0; from < bytes.length; ) {
    if (log.usedBytes >= batchBytes || freeBytes(log) <= 0) flush(log);
    const { usedBytes } = log;
    const length = Math.min(bytes.length - from, batchBytes - usedBytes, freeBytes(log));
    const isWhole = from === 0 && length === bytes.length;
    log.buffer.set(isWhole ? bytes : bytes.subarray(from, from + length), usedBytes);
    addRecord(log, connection.id, kind, atMs, usedBytes, length);
    log.usedBytes = usedBytes + length;
    from += length;
  }
  if (log.usedBytes >= batchBytes) flush(log);
}

function addEnd(log: TapLogState, connection: LoggedConnection, direction: TapDirection): void {
  if (connection.lost) return;
  if (freeBytes(log) < 0) flush(log);
  addRecord(log, connection.id, direction === "request" ? requestEnded : responseEnded, tapClock(), 0, 0);
}

function addPassed(log: TapLogState, connection: LoggedConnection, request: number, slot: number): void {
  if (connection.lost) return;
  if (freeBytes(log) < 0) flush(log);
  addRecord(log, connection.id, passedRequest, tapClock(), request, slot);
}

function addNote(log: TapLogState, frame: TapFrame): void {
  if (freeBytes(log) < 0) flush(log);
  log.notes.push(frame);
  if (isUrgent(frame) && isReaderKeepingUp(log)) log.immediate ??= setImmediate(flushWhenReaderKeepsUp, log);
  addRecord(log, 0, noteFrame, 0, log.notes.length - 1, 0);
}

/** Whether the reader looks up the client's process on this note: a short call's client may be gone soon. `calling` comes before `opened`. */
const isUrgent = (frame: TapFrame) =>
  frame.kind !== "closed" && (frame.kind !== "opened" || frame.mode !== "intercepted");

function dropConnection(log: TapLogState, connection: LoggedConnection): void {
  connection.lost = true;
  log.onLost();
  addNote(log, { kind: "lost", connection: connection.id });
}

function addRecord(
  log: TapLogState,
  connection: number,
  kind: number,
  atMs: number,
  offset: number,
  length: number,
): void {
  if (log.records === 0) scheduleFlush(log);
  log.records += 1;
  const { fields } = log;
  const field = fields.length - log.records * recordFields;
  fields[field] = connection;
  fields[field + 1] = kind;
  fields[field + 2] = atMs;
  fields[field + 3] = offset;
  fields[field + 4] = length;
}

/** Returns the free space in the buffer in bytes, after one more record. Negative if there is no space for a record. */
const freeBytes = ({ usedBytes, records }: TapLogState) =>
  capacity - usedBytes - (records + 1) * recordFields * 8;

const unreadBytes = ({ postedBytes, acknowledged }: TapLogState) =>
  (postedBytes - Atomics.load(acknowledged, 0)) >>> 0;

const isReaderKeepingUp = ({ postedBatches, acknowledged }: TapLogState) =>
  (postedBatches - Atomics.load(acknowledged, 1)) >>> 0 <= maxPartBatches;

const isBacklogFull = (log: TapLogState) =>
  unreadBytes(log) + log.usedBytes + log.notes.length * noteBytes > log.maxBacklogBytes;

/** Schedules a flush. After a pause it is at the end of the turn, so that the last frames of a call are not delayed. */
function scheduleFlush(log: TapLogState): void {
  if (log.timer !== null || log.immediate !== null) return;
  const dueInMs = log.flushedAtMs + log.flushMs - tapClock();
  if (dueInMs <= 0 || dueInMs > log.flushMs) log.immediate = setImmediate(flushWhenReaderKeepsUp, log);
  else log.timer = setTimeout(flushWhenReaderKeepsUp, dueInMs, log);
}

/** Flushes if the reader keeps up. Otherwise checks again after `flushMs`. */
function flushWhenReaderKeepsUp(log: TapLogState): void {
  if (isReaderKeepingUp(log)) return flush(log);
  cancelFlush(log);
  log.timer = setTimeout(flushWhenReaderKeepsUp, log.flushMs, log);
}

function cancelFlush(log: TapLogState): void {
  if (log.timer !== null) clearTimeout(log.timer);
  if (log.immediate !== null) clearImmediate(log.immediate);
  log.timer = log.immediate = null;
}

function flush(log: TapLogState): void {
  cancelFlush(log);
  if (log.records === 0) return;
  log.flushedAtMs = tapClock();
  const { records, notes } = log;
  const copy = copySmallBatch(log);
  const buffer = copy ?? log.buffer.buffer;
  if (copy === null) {
    log.buffer = new Uint8Array(log.spare.pop() ?? new ArrayBuffer(capacity));
    log.fields = new Float64Array(log.buffer.buffer);
  }
  const memoryBytes = buffer.byteLength + notes.length * noteBytes;
  log.postedBytes = (log.postedBytes + memoryBytes) | 0;
  log.postedBatches = (log.postedBatches + 1) | 0;
  log.usedBytes = log.records = 0;
  log.notes = [];
  log.post({ kind: "batch", buffer, records, memoryBytes, notes, isReusable: copy === null });
}

/** Returns the batch in a buffer of its size: the bytes, and the records at its end. Null if it is not small. */
function copySmallBatch({ buffer, usedBytes, records }: TapLogState): ArrayBuffer | null {
  const recordsSize = records * recordFields * 8;
  const bytesSize = Math.ceil(usedBytes / 8) * 8;
  if (bytesSize + recordsSize > maxCopiedBytes) return null;
  const copy = new Uint8Array(bytesSize + recordsSize);
  copy.set(buffer.subarray(0, usedBytes));
  copy.set(buffer.subarray(buffer.length - recordsSize), bytesSize);
  return copy.buffer;
}

function reuseBuffer({ spare }: TapLogState, buffer: ArrayBuffer): void {
  if (spare.length < maxSpareBuffers && buffer.byteLength === capacity) spare.push(buffer);
}

/** Reads a batch back into frames. Their bytes are views of the batch's buffer, which is reused afterwards. */
export function readTapBatch(batch: TapBatch): TapFrame[] {
  const fields = new Float64Array(batch.buffer);
  const frames: TapFrame[] = [];
  for (let index = 1; index <= batch.records; index += 1) {
    const field = fields.length - index * recordFields;
    const connection = fields[field] as number;
    const recordKind = fields[field + 1] as number;
    const atMs = fields[field + 2] as number;
    const offset = fields[field + 3] as number;
    if (recordKind === noteFrame) {
      frames.push(batch.notes[offset] as TapFrame);
    } else if (recordKind === passedRequest) {
      frames.push({ kind: "passed", connection, request: offset, slot: fields[field + 4] as number });
    } else if (recordKind === requestData || recordKind === responseData) {
      const bytes = new Uint8Array(batch.buffer, offset, fields[field + 4] as number);
      frames.push({
        kind: "data",
        connection,
        direction: recordKind === requestData ? "request" : "response",
        bytes,
        atMs,
      });
    } else {
      frames.push({
        kind: "ended",
        connection,
        direction: recordKind === requestEnded ? "request" : "response",
        atMs,
      });
    }
  }
  return frames;
}
