import {
  entryHeadBytes,
  noteBytes,
  noteFrame,
  passedRequest,
  placesAt,
  recordFields,
  requestData,
  requestEnded,
  responseData,
  responseEnded,
  type TapBatch,
} from "./tap-batch.ts";
import { tapClock } from "./tap-clock.ts";
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
  passed(connection: LoggedConnection, request: number, pass: number): void;
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

/**
 * The memory that a process shares with the reader of its log, where it outlives a crash of this process. The bytes of a response, and its
 * end, are written there before the client gets them. So the reader gets the log of each response that a client has got whole.
 */
export interface TapMemory {
  /** Appends a batch, whose first 16 bytes it sets. Returns false if there is no room: then the batch is posted. */
  write(entry: Uint8Array): boolean;
  /** Tells the reader to read what was written. */
  announce(): void;
  /** Puts what the reader has read into `acknowledged`. */
  readProgress(acknowledged: Int32Array): void;
  /** Ends this process if its reader has ended: nobody would read the log of the calls that it still relays. */
  checkReader(): void;
}

interface TapLogOptions {
  readonly post: (batch: TapBatch) => void;
  /** Two shared counters of what the reader has read: the memory size of the batches in bytes, and their number. */
  readonly acknowledged: Int32Array;
  /** While more bytes than this are unread, new bytes are dropped. */
  readonly maxBacklogBytes: number;
  readonly flushMs: number;
  /** Takes the batches if this is a process of its own. */
  readonly memory?: TapMemory | undefined;
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
  /** Whether the memory holds batches that were not announced. */
  isUnannounced: boolean;
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
    usedBytes: options.memory === undefined ? 0 : entryHeadBytes,
    records: 0,
    notes: [],
    postedBytes: 0,
    postedBatches: 0,
    timer: null,
    immediate: null,
    flushedAtMs: 0,
    isUnannounced: false,
  };
  return {
    data: (connection, direction, bytes) => addData(log, connection, direction, bytes),
    ended: (connection, direction) => addEnd(log, connection, direction),
    passed: (connection, request, pass) => addPassed(log, connection, request, pass),
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
  if (direction === "response") log.memory?.checkReader();
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
  else if (direction === "response") writeToMemory(log);
}

function addEnd(log: TapLogState, connection: LoggedConnection, direction: TapDirection): void {
  if (connection.lost) return;
  if (freeBytes(log) < 0) flush(log);
  addRecord(log, connection.id, direction === "request" ? requestEnded : responseEnded, tapClock(), 0, 0);
  if (direction === "response") writeToMemory(log);
}

function addPassed(log: TapLogState, connection: LoggedConnection, request: number, pass: number): void {
  if (connection.lost) return;
  if (freeBytes(log) < 0) flush(log);
  addRecord(log, connection.id, passedRequest, tapClock(), request, pass);
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

const unreadBatches = ({ postedBatches, acknowledged }: TapLogState) =>
  (postedBatches - Atomics.load(acknowledged, 1)) >>> 0;

/** Whether this is so, also after the progress of the reader was read from the memory. */
function isStill(log: TapLogState, condition: (log: TapLogState) => boolean): boolean {
  if (!condition(log)) return false;
  if (log.memory === undefined) return true;
  log.memory.readProgress(log.acknowledged);
  return condition(log);
}

const isBehind = (log: TapLogState) => unreadBatches(log) > maxPartBatches;

const isReaderKeepingUp = (log: TapLogState) => !isStill(log, isBehind);

const exceedsBacklog = (log: TapLogState) =>
  unreadBytes(log) + log.usedBytes + log.notes.length * noteBytes > log.maxBacklogBytes;

const isBacklogFull = (log: TapLogState) => isStill(log, exceedsBacklog);

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
  if (log.records === 0 && !log.isUnannounced) return;
  log.flushedAtMs = tapClock();
  writeToMemory(log);
  if (log.isUnannounced) announce(log);
  if (log.records > 0) postBatch(log);
}

function postBatch(log: TapLogState): void {
  const { records, notes } = log;
  const copy = copyBatch(log);
  const buffer = copy ?? log.buffer.buffer;
  if (copy === null) {
    log.buffer = new Uint8Array(log.spare.pop() ?? new ArrayBuffer(capacity));
    log.fields = new Float64Array(log.buffer.buffer);
  }
  const memoryBytes = buffer.byteLength + notes.length * noteBytes;
  countPosted(log, memoryBytes);
  log.postedBatches = (log.postedBatches + 1) | 0;
  log.post({ kind: "batch", buffer, records, memoryBytes, notes, isReusable: copy === null });
}

/** Writes the batch in progress to the memory that is shared with the reader, if there is any and it has room. */
function writeToMemory(log: TapLogState): void {
  const { buffer, usedBytes, records, notes, memory } = log;
  if (memory === undefined || records === 0) return;
  const recordsAt = padTo8(usedBytes);
  const recordsSize = records * recordFields * 8;
  const end = recordsAt + recordsSize;
  const first = buffer.length - recordsSize;
  buffer.copyWithin(recordsAt, first);
  new Uint32Array(buffer.buffer, placesAt, 2).set([recordsAt, end]);
  const entry = buffer.subarray(0, end);
  if (!memory.write(notes.length === 0 ? entry : joinNotes(entry, notes))) {
    buffer.copyWithin(first, recordsAt, end);
    return;
  }
  log.isUnannounced = true;
  countPosted(log, end + notes.length * noteBytes);
}

/** Tells the reader of the batches that were written since the last time. */
function announce(log: TapLogState): void {
  log.isUnannounced = false;
  log.postedBatches = (log.postedBatches + 1) | 0;
  log.memory?.announce();
}

/** Begins a new batch. */
function countPosted(log: TapLogState, memoryBytes: number): void {
  log.postedBytes = (log.postedBytes + memoryBytes) | 0;
  log.usedBytes = log.memory === undefined ? 0 : entryHeadBytes;
  log.records = 0;
  log.notes = [];
}

const padTo8 = (length: number) => Math.ceil(length / 8) * 8;

/** Returns the entry with the notes at its end, as JSON that is padded with spaces. */
function joinNotes(entry: Uint8Array, notes: readonly TapFrame[]): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(notes));
  const joined = new Uint8Array(entry.length + padTo8(text.length)).fill(SPACE);
  joined.set(entry);
  joined.set(text, entry.length);
  return joined;
}

const SPACE = 0x20;

/** Returns the batch in a buffer of its size: the bytes, and the records at its end. Null if its buffer is to be posted itself. */
function copyBatch({ buffer, usedBytes, records, memory }: TapLogState): ArrayBuffer | null {
  const recordsSize = records * recordFields * 8;
  const bytesSize = padTo8(usedBytes);
  // A process can only post copies.
  if (memory === undefined && bytesSize + recordsSize > maxCopiedBytes) return null;
  const copy = new Uint8Array(bytesSize + recordsSize);
  copy.set(buffer.subarray(0, usedBytes));
  copy.set(buffer.subarray(buffer.length - recordsSize), bytesSize);
  return copy.buffer;
}

function reuseBuffer({ spare }: TapLogState, buffer: ArrayBuffer): void {
  if (spare.length < maxSpareBuffers && buffer.byteLength === capacity) spare.push(buffer);
}
