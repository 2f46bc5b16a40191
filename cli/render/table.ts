import stringWidth from "string-width";
import { printable } from "./printable.ts";

export interface Column {
  title: string;
  align?: "left" | "right";
  /** May be cut with an ellipsis when the table is wider than the terminal. */
  shrink?: boolean;
}

/** The least that a shrinking column keeps, in terminal cells. */
const LEAST_WIDTH = 8;

function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** The width of each column where nothing gives way. */
function naturalWidths(columns: readonly Column[], rows: readonly (readonly string[])[]): number[] {
  // Not by an argument for each row, of which there may be more than a call can have.
  return columns.map((column, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, stringWidth(printable(row[index] ?? ""))),
      stringWidth(column.title),
    ),
  );
}

const tableWidth = (widths: readonly number[]) => widths.reduce((sum, each) => sum + each + 2, -2);

/** Whether the rows can be laid out in `width` terminal cells with nothing cut. */
export function tableFits(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): boolean {
  return tableWidth(naturalWidths(columns, rows)) <= width;
}

/**
 * Lays rows out under their titles, two cells between columns. Where that is wider than `width`, the shrinking
 * columns give way, the widest first; numbers are never cut.
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
      if (!column.shrink || (widths[index] as number) <= LEAST_WIDTH) continue;
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
        const padding = " ".repeat(room - stringWidth(text));
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
