import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../values/text/json-bytes.ts";
import { decodeStrictUtf8 } from "./utf8.ts";

/** Maximum nesting depth of received JSON. Decision: the deepest payload has five levels; the rest is room for additions. */
export const MAX_JSON_DEPTH = 32;

/** A parsed JSON value, or the reason for a 400. */
type JsonResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: "invalid_utf8" | "too_deep" | "invalid_json" };

/** Parses a body as JSON: strict UTF-8, bounded nesting, then `JSON.parse`. Never throws. */
export function readJson(bytes: Uint8Array, maxDepth: number = MAX_JSON_DEPTH): JsonResult {
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
 * Whether arrays and objects in the text nest at most `maxDepth` levels. One pass over the text. For invalid JSON, the
 * result is never shallower than the depth a parser would reach.
 */
export function isWithinDepth(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      // An unterminated string, which no parser accepts.
      if (at === -1) return true;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      if (depth > maxDepth) return false;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
  }
  return true;
}

/** Returns the index of the first unescaped quote after `openedAt`, or -1. */
function endOfString(text: string, openedAt: number): number {
  for (let end = text.indexOf('"', openedAt + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}
