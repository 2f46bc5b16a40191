import { type CsvValue, formatCsvLine } from "../../core/values/text/format-csv-field.ts";
import { printable } from "./printable.ts";

/** Renders CSV (RFC 4180) with a header line. Characters that control a terminal are replaced in texts. */
export function renderCsvTable(columns: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  const shown = rows.map((row) => row.map((value) => (typeof value === "string" ? printable(value) : value)));
  return [columns, ...shown].map(formatCsvLine).join("");
}
