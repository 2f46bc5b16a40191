import { createByteStore } from "./byte-store.ts";
import { decodeUtf8 } from "./bytes.ts";

/** One message of an AWS event stream. */
export interface EventStreamMessage {
  /** The value of a header that is a string (`:message-type`, `:event-type`, `:exception-type`); null for all others. */
  header(name: string): string | null;
  /** A view valid only during the call. */
  readonly payload: Uint8Array;
}

export interface EventStreamReaderOptions {
  /** The longest message that is reported, in bytes. */
  readonly maxMessageBytes: number;
}

export interface EventStreamReader {
  push(bytes: Uint8Array): void;
  end(): void;
  /** Messages that were not reported: those that were too long, and one where a checksum or a cut ended the reading. */
  readonly dropped: number;
}

/** Two lengths and their checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;

/**
 * Creates a reader of `application/vnd.amazon.eventstream`: a message is its length and that of its headers (both
 * 32-bit, big-endian), the CRC-32 of these eight bytes, the headers, the payload, and the CRC-32 of all before it.
 * Source: Amazon Transcribe, "Event stream encoding", https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html.
 *
 * A length that can't be or a wrong checksum ends the reading: where the next message begins is not known any more.
 */
export function createEventStreamReader(
  onMessage: (message: EventStreamMessage) => void,
  { maxMessageBytes }: EventStreamReaderOptions,
): EventStreamReader {
  const store = createByteStore();
  let dropped = 0;
  /** Bytes of a message that is too long which are still to come. */
  let toSkip = 0;
  /** As long as fewer bytes than these are held, there is nothing to look at. */
  let needed = PRELUDE_BYTES;
  let broken = false;

  const breakOff = () => {
    broken = true;
    dropped++;
    store.clear();
  };

  /** Takes the messages from the front; says how many bytes they took. */
  const take = (bytes: Uint8Array): number => {
    let at = 0;
    needed = PRELUDE_BYTES;
    while (bytes.length - at >= PRELUDE_BYTES) {
      const total = readUint32(bytes, at);
      const headers = readUint32(bytes, at + 4);
      if (
        total < PRELUDE_BYTES + headers + CHECKSUM_BYTES ||
        readUint32(bytes, at + 8) !== crc32(bytes, at, at + 8)
      ) {
        breakOff();
        break;
      }
      if (total > maxMessageBytes) {
        dropped++;
        toSkip = Math.max(0, total - (bytes.length - at));
        at = Math.min(bytes.length, at + total);
        continue;
      }
      if (bytes.length - at < total) {
        needed = total;
        break;
      }
      const end = at + total - CHECKSUM_BYTES;
      const payload = at + PRELUDE_BYTES + headers;
      const named = readHeaders(bytes, at + PRELUDE_BYTES, payload);
      if (named === null || readUint32(bytes, end) !== crc32(bytes, at, end)) {
        breakOff();
        break;
      }
      onMessage({ header: (name) => named.get(name) ?? null, payload: bytes.subarray(payload, end) });
      at += total;
    }
    return at;
  };

  return {
    get dropped() {
      return dropped;
    },
    push(bytes) {
      if (broken) return;
      const from = Math.min(toSkip, bytes.length);
      toSkip -= from;
      if (store.length === 0) {
        const rest = bytes.subarray(from);
        const taken = take(rest);
        if (!broken) store.append(rest, taken, rest.length);
        return;
      }
      store.append(bytes, from, bytes.length);
      if (store.length < needed) return;
      const taken = take(store.view());
      if (broken) return;
      const rest = store.view().slice(taken);
      store.clear();
      store.append(rest, 0, rest.length);
    },
    end() {
      if (store.length > 0 || toSkip > 0) breakOff();
    },
  };
}

/** The lengths of header values by their type; a negative one says how many bytes of length precede the value. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, -2, -2, 8, 16] as const;
const STRING_TYPE = 7;

/** The headers that are strings, or null where the bytes are no headers. */
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
