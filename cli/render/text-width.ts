import { createRequire } from "node:module";

/**
 * Text whose characters are one column each: ASCII, Latin letters, and the punctuation, arrows, lines and blocks that the
 * program prints.
 */
const ONE_COLUMN_EACH = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u259f]*$/;

let measure: ((text: string) => number) | null = null;

/** The number of a terminal's columns that a text takes. */
export function textWidth(text: string): number {
  if (ONE_COLUMN_EACH.test(text)) return text.length;
  // Loading it takes about 25 ms, and most output has no use for it.
  measure ??= createRequire(import.meta.url)("string-width").default as (text: string) => number;
  return measure(text);
}
