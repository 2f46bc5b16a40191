import type { TapDirection, TapFrame } from "./tap-frames.ts";

/** Bytes of one batch at most; a full batch is sent at once. */
const batchBytes = 262_144;

/** Room for the records of a batch, which grow from the end of its buffer towards the bytes. */
const recordBytes = 98_304;

/** A record: connection, what, at, offset, length. Numbers of eight bytes hold them all exactly. */
const recordFields = 5;

const requestData = 0;
const responseData = 1;
const requestEnded = 2;
const responseEnded = 3;
const note = 4;

/** One transferred piece of the log. */
export interface TapBatch {
  readonly kind: "batch";
  readonly buffer: ArrayBuffer;
  readonly records: number;
  /** What the backlog counts for this batch. */
  readonly weight: number;
  /** The frames without bytes, which records point to. */
  readonly notes: readonly TapFrame[];
}

/** What the log keeps for each connection. */
export interface LoggedConnection {
  readonly id: number;
  /** When bytes last passed, for those who wait for quiet connections. */
  lastAtMs: number;
  lost: boolean;
}

/** The proxy's end of the log. No call throws, waits or keeps the bytes it is given. */
export interface TapLog {
  data(connection: LoggedConnection, direction: TapDirection, bytes: Uint8Array): void;
  ended(connection: LoggedConnection, direction: TapDirection): void;
  /** Adds a frame without bytes and sends what there is at the end of this turn of the event loop. */
  note(frame: TapFrame): void;
  flush(): void;
  /** Takes the buffer of a batch that was read, so that the next batch needs no fresh one. */
  reuse(buffer: ArrayBuffer): void;
}

/** Spare buffers that are kept; more than a few are left over only after a burst. */
const maxSpareBuffers = 8;

/** Milliseconds since the epoch on a clock that never steps back. */
export function tapClock(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Makes a log that sends batches through `post`: when 256 KiB are full, `flushMs` after the batch before, and at the end
 * of the turn for frames that can't wait, or where the batch before is longer ago. `acknowledged` is a shared counter of
 * the weight that the reader has dealt with. While more than `maxBacklogBytes` are on their way, bytes are dropped, and
 * each connection that lost some is reported once and stays unlogged; the bytes on the wire never wait.
 */
export function createTapLog(options: {
  readonly post: (batch: TapBatch) => void;
  readonly acknowledged: Int32Array;
  readonly maxBacklogBytes: number;
  readonly flushMs: number;
  readonly onLost: () => void;
}): TapLog {
  const { post, acknowledged, maxBacklogBytes, flushMs, onLost } = options;
  const capacity = batchBytes + recordBytes;
  const spare: ArrayBuffer[] = [];
  let buffer = new Uint8Array(capacity);
  let fields = new Float64Array(buffer.buffer);
  let used = 0;
  let records = 0;
  let notes: TapFrame[] = [];
  let posted = 0; // wraps at 2^32, as the shared counter does
  let timer: NodeJS.Timeout | null = null;
  let immediate: NodeJS.Immediate | null = null;
  let flushedAtMs = 0;

  const flush = () => {
    if (timer !== null) clearTimeout(timer);
    if (immediate !== null) clearImmediate(immediate);
    timer = immediate = null;
    if (records === 0) return;
    flushedAtMs = tapClock();
    const weight = used + records * recordFields * 8;
    posted = (posted + weight) | 0;
    const batch: TapBatch = { kind: "batch", buffer: buffer.buffer, records, weight, notes };
    used = records = 0;
    notes = [];
    buffer = new Uint8Array(spare.pop() ?? new ArrayBuffer(capacity));
    fields = new Float64Array(buffer.buffer);
    post(batch);
  };

  /** After a pause the first frames go at the end of their turn, so that the last ones of a call are not kept back. */
  const plan = () => {
    if (timer !== null || immediate !== null) return;
    const dueInMs = flushedAtMs + flushMs - tapClock();
    if (dueInMs <= 0 || dueInMs > flushMs) immediate = setImmediate(flush);
    else timer = setTimeout(flush, dueInMs);
  };

  const record = (connection: number, what: number, atMs: number, at: number, length: number) => {
    if (records === 0) plan();
    records += 1;
    const field = capacity / 8 - records * recordFields;
    fields[field] = connection;
    fields[field + 1] = what;
    fields[field + 2] = atMs;
    fields[field + 3] = at;
    fields[field + 4] = length;
  };

  const room = () => capacity - used - (records + 1) * recordFields * 8;

  const addNote = (frame: TapFrame) => {
    if (room() < 0) flush();
    notes.push(frame);
    immediate ??= setImmediate(flush);
    record(0, note, 0, notes.length - 1, 0);
  };

  const behind = () => ((posted - Atomics.load(acknowledged, 0)) >>> 0) + used > maxBacklogBytes;

  const lose = (connection: LoggedConnection) => {
    connection.lost = true;
    onLost();
    addNote({ kind: "lost", connection: connection.id });
  };

  return {
    flush,
    reuse(spent) {
      if (spare.length < maxSpareBuffers && spent.byteLength === capacity) spare.push(spent);
    },
    note: addNote,
    data(connection, direction, bytes) {
      const atMs = tapClock();
      connection.lastAtMs = atMs;
      if (connection.lost) return;
      if (behind()) {
        lose(connection);
        return;
      }
      const what = direction === "request" ? requestData : responseData;
      for (let from = 0; from < bytes.length; ) {
        if (used >= batchBytes || room() <= 0) flush();
        const length = Math.min(bytes.length - from, batchBytes - used, room());
        buffer.set(from === 0 && length === bytes.length ? bytes : bytes.subarray(from, from + length), used);
        record(connection.id, what, atMs, used, length);
        used += length;
        from += length;
      }
      if (used >= batchBytes) flush();
    },
    ended(connection, direction) {
      if (connection.lost) return;
      if (room() < 0) flush();
      record(connection.id, direction === "request" ? requestEnded : responseEnded, tapClock(), 0, 0);
    },
  };
}

/** Reads a batch back into frames. Their bytes are views of the batch's buffer, which is used again afterwards. */
export function readTapBatch(batch: TapBatch): TapFrame[] {
  const fields = new Float64Array(batch.buffer);
  const frames: TapFrame[] = [];
  for (let index = 1; index <= batch.records; index += 1) {
    const field = fields.length - index * recordFields;
    const connection = fields[field] as number;
    const what = fields[field + 1] as number;
    const atMs = fields[field + 2] as number;
    const at = fields[field + 3] as number;
    if (what === note) {
      frames.push(batch.notes[at] as TapFrame);
    } else if (what === requestData || what === responseData) {
      const bytes = new Uint8Array(batch.buffer, at, fields[field + 4] as number);
      frames.push({
        kind: "data",
        connection,
        direction: what === requestData ? "request" : "response",
        bytes,
        atMs,
      });
    } else {
      frames.push({
        kind: "ended",
        connection,
        direction: what === requestEnded ? "request" : "response",
        atMs,
      });
    }
  }
  return frames;
}
