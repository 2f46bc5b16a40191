import { printable } from "./printable.ts";
import { textWidth } from "./text-width.ts";

export interface Column {
  title: string;
  align?: "left" | "right";
  /** Whether to truncate its cells with an ellipsis if the table is wider than the terminal. */
  shrink?: boolean;
}

/** Minimum width of a shrinking column, in terminal cells. */
export const MIN_SHRUNK_WIDTH = 8;

function cut(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (textWidth(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Returns the width of each column with nothing truncated. */
function naturalWidths(columns: readonly Column[], rows: readonly (readonly string[])[]): number[] {
  // Not Math.max(...rows): there may be more rows than a call can have arguments.
  return columns.map((column, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, textWidth(printable(row[index] ?? ""))),
      textWidth(column.title),
    ),
  );
}

const tableWidth = (widths: readonly number[]) => widths.reduce((sum, each) => sum + each + 2, -2);

/**
 * Whether the table fits into `width` terminal cells if no shrinking column is truncated to less than `minShrunk` cells; by
 * default, with nothing truncated.
 */
export function tableFits(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  minShrunk = Number.POSITIVE_INFINITY,
): boolean {
  const widths = naturalWidths(columns, rows).map((natural, index) =>
    columns[index]?.shrink === true ? Math.min(natural, minShrunk) : natural,
  );
  return tableWidth(widths) <= width;
}

/**
 * Renders a table with two cells between columns. If it is wider than `width`, shrinking columns are truncated, the widest
 * first; numbers are never truncated.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = naturalWidths(columns, cells);
  while (tableWidth(widths) > width) {
    let widest = -1;
    for (const [index, column] of columns.entries()) {
      if (!column.shrink || (widths[index] as number) <= MIN_SHRUNK_WIDTH) continue;
      if (widest === -1 || (widths[index] as number) > (widths[widest] as number)) widest = index;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] as number) - 1;
  }
  const line = (values: readonly string[]) =>
    columns
      .map((column, index) => {
        const room = widths[index] as number;
        const text = cut(values[index] ?? "", room);
        const padding = " ".repeat(room - textWidth(text));
        return column.align === "right" ? padding + text : text + padding;
      })
      .join("  ")
      .trimEnd();
  return [
    line(columns.map((column) => column.title)),
    widths.map((each) => "─".repeat(each)).join("  "),
    ...cells.map(line),
  ].join("\n");
}
