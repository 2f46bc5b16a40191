import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isJsonSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../../values/text/json-bytes.ts";
import { type ByteQuota, type ByteStore, createByteStore } from "./byte-store.ts";
import { viewOf } from "./bytes.ts";

interface JsonArrayReaderOptions {
  /** Maximum size of an element, in bytes. Larger elements are dropped. */
  readonly maxElementBytes?: number;
  /** Bounds the memory of elements that span several pushes. Elements that it has no memory for are dropped. */
  readonly quota?: ByteQuota | null;
}

interface JsonArrayReader {
  push(bytes: Uint8Array): void;
  /** Ends the document. A truncated element is not reported. */
  end(): void;
  /** The number of elements that were too large, or that the quota had no memory for. */
  readonly dropped: number;
}

/** Default maximum size of an element, in bytes. Decision: the capture skip threshold of docs/specification.md#limits, 4 MiB. */
const DEFAULT_MAX_ELEMENT_BYTES = 4 * 1024 * 1024;

/**
 * Creates a reader of a JSON document that is an array. `onElement` receives each top-level element when it is complete, as
 * a view that is valid only during the call. A document that is not an array, such as an error response, is one element.
 * Only strings and brackets are examined; elements are not checked to be valid JSON.
 */
export function createJsonArrayReader(
  onElement: (json: Uint8Array) => void,
  { maxElementBytes = DEFAULT_MAX_ELEMENT_BYTES, quota = null }: JsonArrayReaderOptions = {},
): JsonArrayReader {
  const state: ArrayState = {
    onElement,
    maxElementBytes,
    place: "before",
    afterElement: "after",
    dropped: 0,
    from: 0,
    depth: 0,
    inString: false,
    escaped: false,
    storedBytes: 0,
    store: createByteStore(quota),
  };
  return {
    get dropped() {
      return state.dropped;
    },
    push: (bytes) => pushBytes(state, bytes),
    end() {
      state.place = "after";
      state.inString = false;
      state.store.clear();
    },
  };
}

interface ArrayState {
  readonly onElement: (json: Uint8Array) => void;
  readonly maxElementBytes: number;
  place: "before" | "between" | "element" | "after";
  afterElement: "between" | "after";
  dropped: number;
  /** The start of the element in this push; 0 if it started in an earlier push. */
  from: number;
  /** The number of open brackets within the element. */
  depth: number;
  inString: boolean;
  escaped: boolean;
  /** Bytes of the element in earlier pushes, which are in `store`. Infinite if the element is dropped. */
  storedBytes: number;
  readonly store: ByteStore;
}

function pushBytes(state: ArrayState, bytes: Uint8Array): void {
  state.from = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (state.inString) {
      readStringByte(state, bytes, at);
      continue;
    }
    if (state.place !== "element") {
      if (readOutside(state, byte)) continue;
      state.from = at;
    }
    readElementByte(state, bytes, at);
  }
  if (state.place !== "element") return;
  state.storedBytes += bytes.length - state.from;
  const isSmall = state.storedBytes <= state.maxElementBytes;
  if (isSmall && state.store.append(bytes, state.from, bytes.length)) return;
  state.storedBytes = Number.POSITIVE_INFINITY;
  state.store.clear();
}

function readStringByte(state: ArrayState, bytes: Uint8Array, at: number): void {
  const byte = bytes[at];
  if (state.escaped) state.escaped = false;
  else if (byte === BACKSLASH) state.escaped = true;
  else if (byte === QUOTE) {
    state.inString = false;
    if (state.depth === 0) finishElement(state, bytes, at + 1);
  }
}

/** Reads a byte between elements. Returns false if the byte starts an element. */
function readOutside(state: ArrayState, byte: number): boolean {
  if (isJsonSpace(byte) || state.place === "after") return true;
  if (state.place === "before") {
    const isArray = byte === OPEN_BRACKET;
    state.place = isArray ? "between" : "element";
    state.afterElement = isArray ? "between" : "after";
    return isArray;
  }
  if (byte === CLOSE_BRACKET) state.place = "after";
  else if (byte !== COMMA) state.place = "element";
  return byte === CLOSE_BRACKET || byte === COMMA;
}

function readElementByte(state: ArrayState, bytes: Uint8Array, at: number): void {
  const byte = bytes[at] as number;
  if (byte === QUOTE) state.inString = true;
  else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) state.depth++;
  else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
    if (state.depth > 0) {
      if (--state.depth === 0) finishElement(state, bytes, at + 1);
    } else {
      // The bracket that closes the array also ends a number or literal.
      finishElement(state, bytes, at);
      state.place = "after";
    }
  } else if (state.depth === 0 && (byte === COMMA || isJsonSpace(byte))) finishElement(state, bytes, at);
}

function finishElement(state: ArrayState, bytes: Uint8Array, to: number): void {
  const { from, store, storedBytes, maxElementBytes } = state;
  const length = storedBytes + to - from;
  let element = length > maxElementBytes ? null : viewOf(bytes, from, to);
  if (element !== null && storedBytes > 0) element = store.append(bytes, from, to) ? store.view() : null;
  state.place = state.afterElement;
  state.storedBytes = 0;
  store.clear();
  if (element === null) state.dropped++;
  else if (length > 0) state.onElement(element);
}
