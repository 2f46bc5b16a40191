import { formatCsvLine } from "../../../core/values/text/format-csv-field.ts";
import { requestItemSchema } from "../../../core/wire/loopback-data.ts";
import { requestJson } from "../../../daemon/api/request-json.ts";
import type { StoredRequest } from "../../../daemon/store/port/records.ts";
import type { Convert } from "./formats.ts";

/** Formats requests as lines of JSON. */
export const toJsonLines: Convert = async (pages, write) => {
  for await (const page of pages)
    await write(page.map((request) => `${JSON.stringify(requestJson(request))}\n`).join(""));
};

const columns = Object.keys(requestItemSchema.entries) as (keyof ReturnType<typeof requestJson>)[];

/** Formats requests as CSV (RFC 4180) with a header line. Unknown values are empty. */
export const toCsv: Convert = async (pages, write) => {
  await write(formatCsvLine(columns));
  for await (const page of pages) await write(page.map(toLine).join(""));
};

function toLine(request: StoredRequest): string {
  const item = requestJson(request);
  return formatCsvLine(columns.map((column) => toCell(item[column])));
}

function toCell(value: unknown): string | number | boolean | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "object") return JSON.stringify(value);
  return value as string | number | boolean;
}
