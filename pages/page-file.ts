import { type CsvValue, formatCsvLine } from "../core/values/text/format-csv-field.ts";

/** A view as a file. */
export interface PageFile {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

/** A format that `format` of an address can ask for. */
export type FileFormat = "csv" | "json";

/** The content type of CSV with a header line (RFC 4180). */
export const CSV_TYPE = "text/csv; charset=utf-8; header=present";

/** Returns the format that an address asks for; null if it asks for a page. */
export function fileFormatOf(parameters: URLSearchParams): FileFormat | null {
  const format = parameters.get("format");
  return format === "csv" || format === "json" ? format : null;
}

/** Returns a view as a file in one of its formats. */
export const createPageFile = (
  name: string,
  format: FileFormat,
  { csv, json }: { readonly csv: () => string; readonly json: () => unknown },
): PageFile => ({
  name: `${name}.${format}`,
  ...(format === "csv"
    ? { type: CSV_TYPE, text: csv() }
    : { type: "application/json", text: JSON.stringify(json()) }),
});

/** Returns the addresses of the files of a page that has no other state. */
export const pageFiles = (href: string): Readonly<Record<FileFormat, string>> => ({
  csv: `${href}?format=csv`,
  json: `${href}?format=json`,
});

/** Columns of a file, each with its value of an item. */
export type Columns<Item> = readonly (readonly [name: string, read: (item: Item) => CsvValue | undefined])[];

/** Formats items as CSV with a header line. Unknown values are empty. */
export function formatColumns<Item>(columns: Columns<Item>, items: readonly Item[]): string {
  const rows = items.map((item) => columns.map(([, read]) => read(item) ?? null));
  return [columns.map(([name]) => name), ...rows].map(formatCsvLine).join("");
}
