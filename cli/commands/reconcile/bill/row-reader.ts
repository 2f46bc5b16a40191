import { findRowFormat } from "../../../../core/pricing/statements/statement-formats.ts";
import type {
  ReadLines,
  RowFormat,
  StatementFormat,
  StatementLine,
} from "../../../../core/pricing/statements/statement-line.ts";
import { CommandFailure } from "../../../program/exit-codes.ts";

/** What receives the lines of a file. */
export type OnLine = (line: StatementLine, format: StatementFormat) => void;

/** Reads the rows of a table. */
export interface RowReader {
  /** Throws a `CommandFailure` if no format has these columns. */
  begin(columns: readonly string[]): void;
  onRow(row: Readonly<Record<string, string>>, number: number): void;
}

/** Creates the reader of a file. The columns tell which statement it is. */
export function createRowReader(path: string, onLine: OnLine): RowReader {
  let format: RowFormat | null = null;
  return {
    begin(columns) {
      format = findRowFormat(columns);
      if (format === null)
        throw new CommandFailure(
          `${path} is not a known statement. Its columns: ${columns.slice(0, 12).join(", ").slice(0, 300)}.`,
        );
    },
    onRow: (row, number) => emit(`${path}, row ${number}`, format!.readRow(row), format!, onLine),
  };
}

/** Hands on the lines of a row or page. Throws a `CommandFailure` if it could not be read. */
export function emit(name: string, read: ReadLines, format: StatementFormat, onLine: OnLine): void {
  if (!read.ok) throw new CommandFailure(`${name}: ${read.problem}. ${format.name} has another value there.`);
  for (const line of read.lines) onLine(line, format);
}
