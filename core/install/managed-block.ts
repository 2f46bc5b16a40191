/** The first line of what is ours in a file of the user's. */
export const BLOCK_BEGIN = "# >>> meter >>>";
/** The last line. */
export const BLOCK_END = "# <<< meter <<<";

/** A text with our lines in it, or why there can't be. */
export type BlockEdit =
  | {
      readonly ok: true;
      readonly text: string;
      /** What was put between the user's text and the block. */
      readonly separator: string;
    }
  | { readonly ok: false; readonly reason: "markers_damaged" };

interface Place {
  readonly start: number;
  readonly end: number;
}

/** Where the block stands, `null` where there is none, `"damaged"` where a marker lacks its partner or comes twice. */
function findBlock(text: string): Place | null | "damaged" {
  const places = (marker: string) =>
    [...text.matchAll(new RegExp(`^${marker}\\r?$`, "gm"))].map(({ index }) => index);
  const [begins, ends] = [places(BLOCK_BEGIN), places(BLOCK_END)];
  if (begins.length === 0 && ends.length === 0) return null;
  const [start, last] = [begins[0], ends[0]];
  if (start === undefined || last === undefined || begins.length + ends.length > 2 || last < start)
    return "damaged";
  const lineEnd = text.indexOf("\n", last);
  return { start, end: lineEnd === -1 ? text.length : lineEnd + 1 };
}

/** What the file holds of ours, markers included; null where nothing does. */
export function readBlock(text: string): string | null {
  const place = findBlock(text);
  return place === null || place === "damaged" ? null : text.slice(place.start, place.end);
}

/** The marked lines as they stand in a file. */
export const blockText = (lines: readonly string[]): string =>
  [BLOCK_BEGIN, ...lines, BLOCK_END, ""].join("\n");

/** Puts the lines between the markers: at the end, or where the block stands already. */
export function insertBlock(text: string, lines: readonly string[]): BlockEdit {
  const place = findBlock(text);
  if (place === "damaged") return { ok: false, reason: "markers_damaged" };
  const block = blockText(lines);
  if (place !== null)
    return { ok: true, text: text.slice(0, place.start) + block + text.slice(place.end), separator: "" };
  const separator = text === "" || text.endsWith("\n") ? "" : "\n";
  return { ok: true, text: text + separator + block, separator };
}

/**
 * Takes the block out again, and the separator that was put before it where nothing has followed since: then every byte
 * is as it was.
 */
export function removeBlock(text: string, separator: string): BlockEdit {
  const place = findBlock(text);
  if (place === "damaged") return { ok: false, reason: "markers_damaged" };
  if (place === null) return { ok: true, text, separator: "" };
  const [head, tail] = [text.slice(0, place.start), text.slice(place.end)];
  const own = tail === "" && separator !== "" && head.endsWith(separator) ? separator.length : 0;
  return { ok: true, text: head.slice(0, head.length - own) + tail, separator: "" };
}
