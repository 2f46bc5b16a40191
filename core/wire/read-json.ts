import { decodeStrictUtf8 } from "./utf8.ts";

/** How deep JSON from outside may nest. Decision: our deepest payload nests five levels; more room is for additions. */
export const MAX_JSON_DEPTH = 32;

/** JSON that was read, or why it was not; the reasons are those of a 400. */
export type JsonReading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: "invalid_utf8" | "too_deep" | "invalid_json" };

/** Reads a body as JSON: strict UTF-8, bounded nesting, then the runtime's parser. Never throws. */
export function readJson(bytes: Uint8Array, maxDepth: number = MAX_JSON_DEPTH): JsonReading {
  const text = decodeStrictUtf8(bytes);
  if (text === null) return { ok: false, reason: "invalid_utf8" };
  if (!isWithinDepth(text, maxDepth)) return { ok: false, reason: "too_deep" };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false, reason: "invalid_json" };
  }
}

/**
 * Whether no array or object in the text stands in more than `maxDepth - 1` others. Reads the text once, and
 * needs no valid JSON: a text that is none is at least never found less deep than a parser would go.
 */
export function isWithinDepth(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      // Ends within a string: no parser takes it.
      if (at === -1) return true;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      if (depth > maxDepth) return false;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
  }
  return true;
}

/** Where the string that opens there is closed: at the first quote that is not escaped. */
function endOfString(text: string, openedAt: number): number {
  for (let end = text.indexOf('"', openedAt + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
