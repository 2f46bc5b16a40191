import { createByteStore } from "./byte-store.ts";
import { COLON, decodeUtf8, LF, NO_BYTES, SPACE, viewOf } from "./bytes.ts";
import { createLineReader } from "./line-reader.ts";

/** One server-sent event. `data` is a view valid only during the call; `text()` pays for decoding when it is called. */
export interface SseEvent {
  /** The name that the stream gave, null where it gave none (what browsers call `message`). */
  readonly event: string | null;
  /** The last event id that the stream has set, null before the first. */
  readonly id: string | null;
  /** The data lines joined by LF, undecoded: what tells whether the event is worth a `text()`. */
  readonly data: Uint8Array;
  /** The data as UTF-8 text. */
  text(): string;
}

export interface SseReaderOptions {
  /** The most data that an event may carry, and the longest line that may matter, in bytes. */
  readonly maxEventBytes?: number;
}

export interface SseReader {
  push(bytes: Uint8Array): void;
  /** The stream is over. What no empty line ended is not an event, and is not reported. */
  end(): void;
  /** Events passed over because they were too large. */
  readonly dropped: number;
}

/** The default ceiling of an event, in bytes. Decision: the contract's capture skip threshold, 4 MiB. */
export const DEFAULT_MAX_EVENT_BYTES = 4 * 1024 * 1024;

/**
 * Creates a reader of a `text/event-stream` (HTML Living Standard, "Interpreting an event stream"). An event that lies
 * whole within one push is neither copied nor decoded, so that one nobody asks about costs little more than finding
 * its line ends. `onEvent` looks at the name or the bytes and leaves, or calls `text()`.
 */
export function createSseReader(
  onEvent: (event: SseEvent) => void,
  { maxEventBytes = DEFAULT_MAX_EVENT_BYTES }: SseReaderOptions = {},
): SseReader {
  let dropped = 0;
  let firstLine = true;
  let name: string | null = null;
  let id: string | null = null;
  /** The latest name that was decoded: streams repeat it thousands of times. */
  let knownName = "";

  let dataLines = 0;
  let dataBytes = 0;
  let tooLarge = false;
  /** The data is `pushed[dataFrom, dataTo)`, or it is `kept` once a cut or a second line made a copy necessary. */
  let pushed = NO_BYTES;
  let dataFrom = 0;
  let dataTo = 0;
  const kept = createByteStore();

  const keep = (): void => {
    if (dataTo > dataFrom) kept.append(pushed, dataFrom, dataTo);
    dataFrom = dataTo = 0;
  };

  const takeData = (bytes: Uint8Array, from: number, to: number): void => {
    dataLines++;
    dataBytes += to - from + (dataLines > 1 ? 1 : 0);
    if (dataBytes > maxEventBytes) tooLarge = true;
    if (tooLarge) return;
    if (dataLines === 1 && bytes === pushed) {
      dataFrom = from;
      dataTo = to;
      return;
    }
    keep();
    if (dataLines > 1) kept.append(LINE_FEED, 0, 1);
    kept.append(bytes, from, to);
  };

  const dispatch = (): void => {
    if (tooLarge) dropped++;
    const event =
      tooLarge || dataLines === 0
        ? null
        : new ReadEvent(name, id, kept.length > 0 ? kept.view() : viewOf(pushed, dataFrom, dataTo));
    name = null;
    dataLines = dataBytes = dataFrom = dataTo = 0;
    tooLarge = false;
    kept.clear();
    if (event !== null) onEvent(event);
  };

  const takeLine = (bytes: Uint8Array, lineFrom: number, to: number): void => {
    let from = lineFrom;
    if (firstLine) {
      firstLine = false;
      if (bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf) from += 3;
    }
    if (from === to) {
      dispatch();
      return;
    }
    const field = fieldOf(bytes[from]!);
    const value = field === null ? -1 : valueStart(bytes, from, to, field);
    if (value === -1) return; // a comment, `retry`, or nothing that the standard knows
    if (to - from > maxEventBytes) tooLarge = true;
    else if (field === "data") takeData(bytes, value, to);
    else if (field === "event") {
      if (!equalsAscii(bytes, value, to, knownName)) knownName = decodeUtf8(bytes.subarray(value, to));
      name = knownName === "" ? null : knownName;
    } else {
      const text = decodeUtf8(bytes.subarray(value, to));
      if (!text.includes("\0")) id = text;
    }
  };

  const lines = createLineReader({ endsAtReturn: true, maxLineBytes: maxEventBytes, onLine: takeLine });

  return {
    get dropped() {
      return dropped;
    },
    push(bytes) {
      pushed = bytes;
      lines.push(bytes);
      keep();
      pushed = NO_BYTES;
    },
    end() {
      dataLines = 0;
      dispatch();
    },
  };
}

class ReadEvent implements SseEvent {
  readonly event: string | null;
  readonly id: string | null;
  readonly data: Uint8Array;
  constructor(event: string | null, id: string | null, data: Uint8Array) {
    this.event = event;
    this.id = id;
    this.data = data;
  }
  text(): string {
    return decodeUtf8(this.data);
  }
}

const LINE_FEED = Uint8Array.of(LF);

/** The only field that a line with this first byte can be. */
function fieldOf(firstByte: number): "data" | "event" | "id" | null {
  if (firstByte === 0x64) return "data";
  if (firstByte === 0x65) return "event";
  return firstByte === 0x69 ? "id" : null;
}

/** Where the value begins if the line is that field, or -1. A name without a colon has an empty value. */
function valueStart(bytes: Uint8Array, from: number, to: number, field: string): number {
  const nameEnd = from + field.length;
  if (nameEnd > to || !equalsAscii(bytes, from, nameEnd, field)) return -1;
  if (nameEnd === to) return to;
  if (bytes[nameEnd] !== COLON) return -1;
  return nameEnd + 1 < to && bytes[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1;
}

/** Whether `bytes[from, to)` is that text; text beyond ASCII never is. */
function equalsAscii(bytes: Uint8Array, from: number, to: number, text: string): boolean {
  if (to - from !== text.length) return false;
  for (let at = from; at < to; at++) {
    if (bytes[at]! > 0x7f || bytes[at] !== text.charCodeAt(at - from)) return false;
  }
  return true;
}
