import { isWithinDepth } from "../../wire/read-json.ts";

/** Maximum length of a price list, in characters. The largest list in use has 2 million. */
export const MAX_PRICE_LIST_LENGTH = 16 * 1024 * 1024;

/** Maximum nesting depth of a price list. The published lists have at most ten levels. */
const MAX_DEPTH = 32;

/** A JSON string, which is kept, or a number, which is quoted. */
const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;

/** The parsed value, or why the text is not a usable price list. */
type NumberTextsResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/**
 * Parses JSON with each number as its text in the document, such as `"1.5e-07"`, because a price must not pass through
 * a float. Never throws.
 */
export function parseJsonWithNumberTexts(text: string): NumberTextsResult {
  if (text.length > MAX_PRICE_LIST_LENGTH)
    return { ok: false, problem: `is longer than ${MAX_PRICE_LIST_LENGTH / 1024 / 1024} MiB` };
  if (!isWithinDepth(text, MAX_DEPTH))
    return { ok: false, problem: `nests more than ${MAX_DEPTH} levels deep` };
  try {
    // The first parse ensures that every string ends, so that the replacement takes linear time.
    JSON.parse(text);
    return {
      ok: true,
      value: JSON.parse(text.replace(STRING_OR_NUMBER, (token) => (token[0] === '"' ? token : `"${token}"`))),
    };
  } catch {
    return { ok: false, problem: "is not JSON" };
  }
}
