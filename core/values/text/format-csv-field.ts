/**
 * Matches the start of a cell that a spreadsheet may evaluate as a formula: `=`, `+`, `-` or `@`, including their
 * full-width, small and mathematical forms, after any white space and invisible characters. Some spreadsheets also split
 * cells at semicolons, tabs and line breaks, and ignore quotes inside a cell, so a formula may start after those too.
 */
const FORMULA =
  /(^|[;\t\r\n])(?=[[\p{Z}\p{C}\u115F\u1160\u3164]--[\t\r\n]]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20\uFE66\uFE62\uFE63\uFE6B\u2212])/gv;

/** The value of a field. Null is written as an empty field. */
export type CsvValue = string | number | bigint | boolean | null;

/** Formats a CSV field (RFC 4180). An apostrophe is put before text that a spreadsheet would evaluate as a formula. */
export function formatCsvField(value: CsvValue): string {
  if (value === null) return "";
  if (typeof value !== "string") return value.toString();
  const safe = value.replaceAll(FORMULA, "$1'");
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Formats a line of CSV with its line end (RFC 4180). */
export function formatCsvLine(values: readonly CsvValue[]): string {
  return `${values.map(formatCsvField).join(",")}\r\n`;
}
