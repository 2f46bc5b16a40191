import { createByteStore } from "./byte-store.ts";
import { CR, HTAB, LF, SPACE, viewOf } from "./bytes.ts";

export interface JsonArrayReaderOptions {
  /** The largest element that is reported, in bytes. */
  readonly maxElementBytes?: number;
}

export interface JsonArrayReader {
  push(bytes: Uint8Array): void;
  /** The document is over. An element that was cut short is not reported. */
  end(): void;
  /** Elements passed over because they were too large. */
  readonly dropped: number;
}

/** The default ceiling of an element, in bytes. Decision: the contract's capture skip threshold, 4 MiB. */
export const DEFAULT_MAX_ELEMENT_BYTES = 4 * 1024 * 1024;

/**
 * Creates a reader of one JSON document that is an array: `onElement` gets each top-level element as soon as its last
 * byte has come, as a view valid only during the call. A document that is no array is one element, as providers answer
 * errors so. Only strings and brackets are looked at: an element need not be valid JSON, and the receiver parses it.
 */
export function createJsonArrayReader(
  onElement: (json: Uint8Array) => void,
  { maxElementBytes = DEFAULT_MAX_ELEMENT_BYTES }: JsonArrayReaderOptions = {},
): JsonArrayReader {
  let place: "before" | "between" | "element" | "after" = "before";
  let afterElement: "between" | "after" = "after";
  let dropped = 0;
  /** Brackets open within the element. */
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** Bytes of the element in earlier pushes: all in `cut` unless they are too many. */
  let cutBytes = 0;
  const cut = createByteStore();

  const finish = (bytes: Uint8Array, from: number, to: number): void => {
    const length = cutBytes + to - from;
    let element = viewOf(bytes, from, to);
    if (cutBytes > 0 && length <= maxElementBytes) {
      cut.append(bytes, from, to);
      element = cut.view();
    }
    place = afterElement;
    cutBytes = 0;
    cut.clear();
    if (length > maxElementBytes) dropped++;
    else if (length > 0) onElement(element);
  };

  /** Takes a byte outside of elements; false where it begins one. */
  const takeOutside = (byte: number): boolean => {
    if (isBlank(byte) || place === "after") return true;
    if (place === "before") {
      place = byte === OPEN_BRACKET ? "between" : "element";
      afterElement = byte === OPEN_BRACKET ? "between" : "after";
      return byte === OPEN_BRACKET;
    }
    if (byte === CLOSE_BRACKET) place = "after";
    else if (byte !== COMMA) place = "element";
    return byte === CLOSE_BRACKET || byte === COMMA;
  };

  return {
    get dropped() {
      return dropped;
    },
    push(bytes) {
      let from = 0;
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at]!;
        if (inString) {
          if (escaped) escaped = false;
          else if (byte === BACKSLASH) escaped = true;
          else if (byte === QUOTE) {
            inString = false;
            if (depth === 0) finish(bytes, from, at + 1);
          }
          continue;
        }
        if (place !== "element") {
          if (takeOutside(byte)) continue;
          from = at;
        }
        if (byte === QUOTE) inString = true;
        else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
        else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
          if (depth > 0) {
            if (--depth === 0) finish(bytes, from, at + 1);
          } else {
            // The bracket that closes the array ends a number or a word.
            finish(bytes, from, at);
            place = "after";
          }
        } else if (depth === 0 && (byte === COMMA || isBlank(byte))) finish(bytes, from, at);
      }
      if (place !== "element") return;
      cutBytes += bytes.length - from;
      if (cutBytes <= maxElementBytes) cut.append(bytes, from, bytes.length);
      else cut.clear();
    },
    end() {
      place = "after";
      inString = false;
      cut.clear();
    },
  };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Blanks of JSON (RFC 8259 section 2). */
function isBlank(byte: number): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === HTAB;
}
