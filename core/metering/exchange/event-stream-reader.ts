import { type ByteQuota, type ByteStore, createByteStore } from "./byte-store.ts";
import { decodeUtf8 } from "./bytes.ts";

/** One message of an AWS event stream. */
export interface EventStreamMessage {
  /** Returns the value of a string header, such as `:message-type` or `:event-type`; null for any other header. */
  header(name: string): string | null;
  /** A view that is valid only during the call. */
  readonly payload: Uint8Array;
}

interface EventStreamReaderOptions {
  /** Maximum length of a message, in bytes. Longer messages are dropped. */
  readonly maxMessageBytes: number;
  /** Bounds the memory of messages that span several pushes. Messages that it has no memory for are dropped. */
  readonly quota?: ByteQuota | null;
}

interface EventStreamReader {
  push(bytes: Uint8Array): void;
  end(): void;
  /** The number of messages that were not reported: too long for the limit or the quota, corrupt, or truncated. */
  readonly dropped: number;
}

/** The length of the prelude: two lengths and their checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;

/**
 * Creates a reader of `application/vnd.amazon.eventstream`: a message is its length and that of its headers (both
 * 32-bit, big-endian), the CRC-32 of these eight bytes, the headers, the payload, and the CRC-32 of all before it.
 * Source: Amazon Transcribe, "Event stream encoding", https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html.
 *
 * An impossible length or a wrong checksum stops the reader, because the start of the next message is unknown.
 */
export function createEventStreamReader(
  onMessage: (message: EventStreamMessage) => void,
  { maxMessageBytes, quota = null }: EventStreamReaderOptions,
): EventStreamReader {
  const state: EventStreamState = {
    onMessage,
    maxMessageBytes,
    store: createByteStore(quota),
    dropped: 0,
    toSkip: 0,
    needed: PRELUDE_BYTES,
    broken: false,
  };
  return {
    get dropped() {
      return state.dropped;
    },
    push: (bytes) => pushBytes(state, bytes),
    end() {
      if (state.store.length > 0 || state.toSkip > 0) stopReading(state);
    },
  };
}

interface EventStreamState {
  readonly onMessage: (message: EventStreamMessage) => void;
  readonly maxMessageBytes: number;
  readonly store: ByteStore;
  dropped: number;
  /** Bytes left to skip of a message that is too long. */
  toSkip: number;
  /** The number of buffered bytes needed before the next step can run. */
  needed: number;
  broken: boolean;
}

function stopReading(state: EventStreamState): void {
  state.broken = true;
  state.dropped++;
  state.store.clear();
}

function pushBytes(state: EventStreamState, bytes: Uint8Array): void {
  const { store } = state;
  if (state.broken) return;
  const from = Math.min(state.toSkip, bytes.length);
  state.toSkip -= from;
  if (store.length === 0) {
    const rest = bytes.subarray(from);
    const consumed = readMessages(state, rest);
    const isStored = state.broken || store.append(rest, consumed, rest.length);
    if (!isStored) dropBuffered(state, rest.length - consumed);
    return;
  }
  if (!store.append(bytes, from, bytes.length)) {
    dropBuffered(state, store.length);
    return pushBytes(state, bytes);
  }
  if (store.length < state.needed) return;
  const consumed = readMessages(state, store.view());
  if (state.broken) return;
  const rest = store.view().slice(consumed);
  store.clear();
  store.append(rest, 0, rest.length); // never refused: it needs less memory than was just returned
}

/** Drops the message that is being buffered, because the quota has no memory for it. */
function dropBuffered(state: EventStreamState, bufferedBytes: number): void {
  // With less than a prelude, its length and thus the start of the next message are unknown.
  if (state.needed === PRELUDE_BYTES) return stopReading(state);
  state.dropped++;
  state.toSkip = state.needed - bufferedBytes;
  state.store.clear();
}

/** Reads complete messages from the start and returns the number of bytes consumed. */
function readMessages(state: EventStreamState, bytes: Uint8Array): number {
  let at = 0;
  state.needed = PRELUDE_BYTES;
  while (bytes.length - at >= PRELUDE_BYTES) {
    const total = readUint32(bytes, at);
    const headersBytes = readUint32(bytes, at + 4);
    const isValid =
      total >= PRELUDE_BYTES + headersBytes + CHECKSUM_BYTES &&
      readUint32(bytes, at + 8) === crc32(bytes, at, at + 8);
    if (!isValid) {
      stopReading(state);
      break;
    }
    if (total > state.maxMessageBytes) {
      state.dropped++;
      state.toSkip = Math.max(0, total - (bytes.length - at));
      at = Math.min(bytes.length, at + total);
      continue;
    }
    if (bytes.length - at < total) {
      state.needed = total;
      break;
    }
    if (!readMessage(state, bytes.subarray(at, at + total), headersBytes)) break;
    at += total;
  }
  return at;
}

/** Reports one complete message. Returns false if it is corrupt. */
function readMessage(state: EventStreamState, message: Uint8Array, headersBytes: number): boolean {
  const end = message.length - CHECKSUM_BYTES;
  const payload = PRELUDE_BYTES + headersBytes;
  const headers = readHeaders(message, PRELUDE_BYTES, payload);
  if (headers === null || readUint32(message, end) !== crc32(message, 0, end)) {
    stopReading(state);
    return false;
  }
  state.onMessage({ header: (name) => headers.get(name) ?? null, payload: message.subarray(payload, end) });
  return true;
}

/** Header value lengths by type. A negative number is the size of the length prefix of a variable-length value. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, -2, -2, 8, 16] as const;
const STRING_TYPE = 7;

/** Reads the string headers; null if the bytes are not valid headers. */
function readHeaders(bytes: Uint8Array, from: number, to: number): Map<string, string> | null {
  const headers = new Map<string, string>();
  let at = from;
  while (at < to) {
    const nameEnd = at + 1 + (bytes[at] as number);
    const type = bytes[nameEnd];
    if (nameEnd >= to || type === undefined || type >= VALUE_BYTES.length) return null;
    let value = nameEnd + 1;
    let length = VALUE_BYTES[type] as number;
    if (length < 0) {
      if (value + 2 > to) return null;
      length = ((bytes[value] as number) << 8) | (bytes[value + 1] as number);
      value += 2;
    }
    if (value + length > to) return null;
    if (type === STRING_TYPE)
      headers.set(
        decodeUtf8(bytes.subarray(at + 1, nameEnd)),
        decodeUtf8(bytes.subarray(value, value + length)),
      );
    at = value + length;
  }
  return headers;
}

function readUint32(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)) >>>
    0
  );
}

let table: Uint32Array | undefined;

/** CRC-32 as in gzip (RFC 1952, section 8). */
function crc32(bytes: Uint8Array, from: number, to: number): number {
  table ??= Uint32Array.from({ length: 256 }, (_, index) => {
    let value = index;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value >>> 0;
  });
  let crc = 0xffffffff;
  for (let at = from; at < to; at++)
    crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] as number)) & 0xff] as number);
  return (crc ^ 0xffffffff) >>> 0;
}
