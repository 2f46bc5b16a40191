import { type ByteQuota, type ByteStore, createByteStore } from "./byte-store.ts";
import { COLON, decodeUtf8, LF, NO_BYTES, SPACE, viewOf } from "./bytes.ts";
import { createLineReader } from "./line-reader.ts";

/** A server-sent event. */
export interface SseEvent {
  /** The event name, cut to `MAX_NAME_BYTES`; null if the stream gave none (a `message` event in browsers). */
  readonly event: string | null;
  /** The data lines joined by LF, undecoded. The view is valid only during the call. */
  readonly data: Uint8Array;
}

interface SseReaderOptions {
  /** Maximum size of an event's data and of a line, in bytes. Larger events are dropped. */
  readonly maxEventBytes?: number;
  /** Bounds the memory of events that span several pushes. Events that it has no memory for are dropped. */
  readonly quota?: ByteQuota | null;
}

interface SseReader {
  push(bytes: Uint8Array): void;
  /** Ends the stream. An event without its closing empty line is not reported. */
  end(): void;
  /** The number of events that were too large, or that the quota had no memory for. */
  readonly dropped: number;
}

/** Default maximum size of an event, in bytes. Decision: the capture skip threshold of docs/specification.md#limits, 4 MiB. */
const DEFAULT_MAX_EVENT_BYTES = 4 * 1024 * 1024;

/** Maximum size of an event's name, in bytes. Names are kept, so the quota does not bound their memory. */
const MAX_NAME_BYTES = 256;

/**
 * Creates a reader of a `text/event-stream` (HTML Living Standard, "Interpreting an event stream") without its ids. An event within a single
 * push is neither copied nor decoded, so that an ignored event costs little more than finding its line ends.
 */
export function createSseReader(
  onEvent: (event: SseEvent) => void,
  { maxEventBytes = DEFAULT_MAX_EVENT_BYTES, quota = null }: SseReaderOptions = {},
): SseReader {
  const state: SseState = {
    onEvent,
    maxEventBytes,
    dropped: 0,
    firstLine: true,
    name: null,
    knownName: "",
    dataLines: 0,
    dataBytes: 0,
    tooLarge: false,
    pushed: NO_BYTES,
    dataFrom: 0,
    dataTo: 0,
    store: createByteStore(quota),
  };
  const lines = createLineReader({
    crEndsLine: true,
    maxLineBytes: maxEventBytes,
    quota,
    onLine: (bytes, from, to) => readLine(state, bytes, from, to),
    onDropped() {
      state.tooLarge = true;
    },
  });
  return {
    get dropped() {
      return state.dropped;
    },
    push(bytes) {
      state.pushed = bytes;
      lines.push(bytes);
      storeData(state);
      state.pushed = NO_BYTES;
    },
    end() {
      state.dataLines = 0;
      dispatch(state);
    },
  };
}

interface SseState {
  readonly onEvent: (event: SseEvent) => void;
  readonly maxEventBytes: number;
  dropped: number;
  firstLine: boolean;
  name: string | null;
  /** The last decoded name, cached because streams repeat it thousands of times. */
  knownName: string;
  dataLines: number;
  dataBytes: number;
  tooLarge: boolean;
  /** The data is `pushed[dataFrom, dataTo)`, or in `store` once it spans several pushes or lines. */
  pushed: Uint8Array;
  dataFrom: number;
  dataTo: number;
  readonly store: ByteStore;
}

function readLine(state: SseState, bytes: Uint8Array, lineFrom: number, to: number): void {
  let from = lineFrom;
  if (state.firstLine) {
    state.firstLine = false;
    if (bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf) from += 3;
  }
  if (from === to) {
    dispatch(state);
    return;
  }
  const field = fieldOf(bytes[from]!);
  const value = field === null ? -1 : valueStart(bytes, from, to, field);
  if (value === -1) return; // a comment, `id`, `retry`, or an unknown field
  if (to - from > state.maxEventBytes) state.tooLarge = true;
  else if (field === "data") addData(state, bytes, value, to);
  else {
    const nameEnd = Math.min(to, value + MAX_NAME_BYTES);
    if (!equalsAscii(bytes, value, nameEnd, state.knownName)) {
      state.knownName = decodeUtf8(bytes.subarray(value, nameEnd));
    }
    state.name = state.knownName === "" ? null : state.knownName;
  }
}

function addData(state: SseState, bytes: Uint8Array, from: number, to: number): void {
  state.dataLines++;
  state.dataBytes += to - from + (state.dataLines > 1 ? 1 : 0);
  if (state.dataBytes > state.maxEventBytes) state.tooLarge = true;
  if (state.tooLarge) return;
  if (state.dataLines === 1 && bytes === state.pushed) {
    state.dataFrom = from;
    state.dataTo = to;
    return;
  }
  storeData(state);
  if (state.dataLines > 1) append(state, LINE_FEED, 0, 1);
  append(state, bytes, from, to);
}

function append(state: SseState, bytes: Uint8Array, from: number, to: number): void {
  if (state.tooLarge || state.store.append(bytes, from, to)) return;
  state.tooLarge = true;
  state.store.clear();
}

/** Copies the data of this push into the store. */
function storeData(state: SseState): void {
  if (state.dataTo > state.dataFrom) append(state, state.pushed, state.dataFrom, state.dataTo);
  state.dataFrom = state.dataTo = 0;
}

function dispatch(state: SseState): void {
  const { tooLarge, store } = state;
  if (tooLarge) state.dropped++;
  const event =
    tooLarge || state.dataLines === 0
      ? null
      : {
          event: state.name,
          data: store.length > 0 ? store.view() : viewOf(state.pushed, state.dataFrom, state.dataTo),
        };
  state.name = null;
  state.dataLines = state.dataBytes = state.dataFrom = state.dataTo = 0;
  state.tooLarge = false;
  store.clear();
  if (event !== null) state.onEvent(event);
}

const LINE_FEED = Uint8Array.of(LF);

/** Returns the only field that can start with this byte. */
function fieldOf(firstByte: number): "data" | "event" | null {
  if (firstByte === 0x64) return "data";
  return firstByte === 0x65 ? "event" : null;
}

/** Returns the start of the value if the line has this field, or -1. A name without a colon has an empty value. */
function valueStart(bytes: Uint8Array, from: number, to: number, field: string): number {
  const nameEnd = from + field.length;
  if (nameEnd > to || !equalsAscii(bytes, from, nameEnd, field)) return -1;
  if (nameEnd === to) return to;
  if (bytes[nameEnd] !== COLON) return -1;
  return nameEnd + 1 < to && bytes[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1;
}

/** Whether `bytes[from, to)` equals an ASCII text. */
function equalsAscii(bytes: Uint8Array, from: number, to: number, text: string): boolean {
  if (to - from !== text.length) return false;
  for (let at = from; at < to; at++) {
    if (bytes[at]! > 0x7f || bytes[at] !== text.charCodeAt(at - from)) return false;
  }
  return true;
}
