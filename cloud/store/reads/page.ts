import type { CursorPosition } from "../../../core/wire/mod.ts";

/** A part of a list, newest first. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Where the next part goes on; null where there is none. */
  readonly next: CursorPosition | null;
}

/** Which part is wanted. */
export interface PageRequest {
  /** The last entry of the part before; null for the first. */
  readonly after: CursorPosition | null;
  readonly limit: number;
}

/** Makes a page of rows of which one more than the limit was read. */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => CursorPosition,
): Page<Row> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { rows: shown, next: rows.length > limit && last !== undefined ? positionOf(last) : null };
}
