/** The first line of the meter's block in a user's file. */
export const BLOCK_BEGIN = "# >>> meter >>>";
/** The last line of the block. */
export const BLOCK_END = "# <<< meter <<<";

/** The edited text, or why the file cannot be edited. */
type BlockEdit =
  | {
      readonly ok: true;
      readonly text: string;
      /** The text that was added between the user's text and the block. */
      readonly separator: string;
    }
  | { readonly ok: false; readonly reason: "markers_damaged" };

interface Place {
  readonly start: number;
  readonly end: number;
}

/** Finds the block. Returns `null` if there is none, and `"damaged"` if a marker is missing or repeated. */
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

/** Returns the block with its markers; null if the file has none or its markers are damaged. */
export function readBlock(text: string): string | null {
  const place = findBlock(text);
  return place === null || place === "damaged" ? null : text.slice(place.start, place.end);
}

/** Formats a block with its markers. */
export const blockText = (lines: readonly string[]): string =>
  [BLOCK_BEGIN, ...lines, BLOCK_END, ""].join("\n");

/** Inserts a block, or replaces an existing one. A new block goes to the end. */
export function insertBlock(text: string, lines: readonly string[]): BlockEdit {
  const place = findBlock(text);
  if (place === "damaged") return { ok: false, reason: "markers_damaged" };
  const block = blockText(lines);
  if (place !== null)
    return { ok: true, text: text.slice(0, place.start) + block + text.slice(place.end), separator: "" };
  const separator = text === "" || text.endsWith("\n") ? "" : "\n";
  return { ok: true, text: text + separator + block, separator };
}

/** Removes the block, and also the separator before it if no text follows. The file then has its original bytes. */
export function removeBlock(text: string, separator: string): BlockEdit {
  const place = findBlock(text);
  if (place === "damaged") return { ok: false, reason: "markers_damaged" };
  if (place === null) return { ok: true, text, separator: "" };
  const [head, tail] = [text.slice(0, place.start), text.slice(place.end)];
  const own = tail === "" && separator !== "" && head.endsWith(separator) ? separator.length : 0;
  return { ok: true, text: head.slice(0, head.length - own) + tail, separator: "" };
}
