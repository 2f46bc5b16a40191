import { importOptional } from "../../../../adapters/optional-packages.ts";
import { columnName } from "../../../../core/pricing/statements/statement-formats.ts";
import type { RowReader } from "./row-reader.ts";

/** How many rows are read at once. */
const ROWS = 10_000;

/** The columns that a reader of line items may need. A report has hundreds of others. */
const WANTED = /^(?:line_item_|product_(?:product_name|servicecode)|pricing_unit)/;

/** Reads a Parquet file in groups of rows. Rejects with a `MissingPackageError` if its package is not installed. */
export async function readParquetRows(path: string, reader: RowReader): Promise<void> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } =
    await importOptional("hyparquet", "Reading Parquet", () => import("hyparquet"));
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const names = parquetSchema(metadata).children.map(({ element }) => element.name);
  reader.begin(names.map(columnName));
  const columns = names.filter((name) => WANTED.test(columnName(name)));
  const total = Number(metadata.num_rows);
  for (let rowStart = 0; rowStart < total; rowStart += ROWS) {
    const rowEnd = Math.min(rowStart + ROWS, total);
    const rows = await parquetReadObjects({ file, metadata, columns, rowStart, rowEnd });
    for (const [index, row] of rows.entries())
      reader.onRow(
        Object.fromEntries(Object.entries(row).map(([name, value]) => [columnName(name), toText(value)])),
        rowStart + index + 1,
      );
  }
}

/** A value as CSV has it. Amounts are doubles in Parquet; their shortest text is the amount that was written. */
function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return value instanceof Date ? value.toISOString() : String(value);
}
