import type { CursorPosition } from "../../../core/wire/cursor.ts";

/** A page of a list, newest first. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** The position after which the next page starts; null if this is the last page. */
  readonly next: CursorPosition | null;
}

/** Which page to read. */
export interface PageRequest {
  /** The last entry of the previous page; null for the first page. */
  readonly after: CursorPosition | null;
  readonly limit: number;
}

/** Creates a page from up to `limit + 1` rows; the extra one shows that there is a next page. */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => CursorPosition,
): Page<Row> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { rows: shown, next: rows.length > limit && last !== undefined ? positionOf(last) : null };
}
