import { importOptional } from "../../../adapters/optional-packages.ts";
import { createReader } from "../../../core/values/record.ts";
import { type FieldType, recordFields } from "../../../core/values/record-fields.ts";
import { requestItemSchema } from "../../../core/wire/loopback-data.ts";
import type { StoredRequest } from "../../../daemon/store/port/records.ts";
import type { Convert } from "./formats.ts";

/** The Parquet type of each type of field. A cost is in pico-USD. */
const TYPES = {
  uuid: "STRING",
  instant: "TIMESTAMP",
  name: "STRING",
  text: "STRING",
  path: "STRING",
  choice: "STRING",
  id: "STRING",
  sha256: "STRING",
  flag: "BOOLEAN",
  tokens: "INT64",
  count: "INT64",
  milliseconds: "INT64",
  status: "INT64",
  cost: "INT64",
  counts: "JSON",
} as const satisfies Readonly<Record<FieldType, string>>;

/** How many requests a row group has: about 10 MB in memory. */
const ROW_GROUP_ROWS = 20_000;

const fields = recordFields
  .filter(({ column, madeForUpload }) => column in requestItemSchema.entries && madeForUpload !== true)
  .map((field) => ({ name: field.column, type: TYPES[field.type], read: createReader(field) }));

const columns = fields.map(({ name, type }) => ({ name, type, nullable: true }));

function toRow(request: StoredRequest): Record<string, unknown> {
  return Object.fromEntries(fields.map(({ name, type, read }) => [name, toValue(type, read(request))]));
}

function toValue(type: (typeof TYPES)[FieldType], value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (type === "INT64") return BigInt(value as number | bigint);
  return type === "TIMESTAMP" ? new Date(value as number) : value;
}

/** Loads the conversion to Parquet. Rejects with a `MissingPackageError` if its package is not installed. */
export async function loadParquet(): Promise<Convert> {
  const { ByteWriter, parquetWriteRows } = await importOptional(
    "hyparquet-writer",
    "The format parquet",
    () => import("hyparquet-writer"),
  );
  return async (pages, write) => {
    async function* rows() {
      for await (const page of pages) for (const request of page) yield toRow(request);
    }
    // The writer counts the written bytes separately from its buffer, so the buffer can be emptied after each row
    // group.
    const writer = Object.assign(new ByteWriter(), {
      async flush() {
        const bytes = writer.getBytes().slice();
        writer.index = 0;
        await write(bytes);
      },
    });
    await parquetWriteRows({ writer, rows: rows(), columns, rowGroupSize: ROW_GROUP_ROWS });
    await writer.flush();
  };
}
