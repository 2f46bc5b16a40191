import { MAX_COUNT } from "../../core/metering/usage/token-counts.ts";
import { type SqliteValue, StoreError } from "../../core/ports/sqlite.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import {
  createTemplate,
  type FieldName,
  type FieldType,
  type FieldValues,
  storedFields,
} from "../../core/values/record-fields.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoredRequest } from "./port/records.ts";
import type { RequestsTable } from "./tables.ts";

/** A row as SQLite returns it. */
export type RequestRow = {
  [Column in keyof RequestsTable]: Column extends "seq" ? number : RequestsTable[Column];
};

/** The columns that capture fills, in the order of `bindRecord()`. */
export const capturedColumns = storedFields.map(({ column }) => column);

/** Checks a token count. The readers limit counts, so a larger one is an error. */
function toTokenCount(count: number): number {
  if (Number.isInteger(count) && count >= 0 && count <= MAX_COUNT) return count;
  throw new StoreError("invalid_value", `a token count must be an integer of 0 to 2^40: ${count}`);
}

/** The last instant whose day has a four-digit year in every time zone. */
export const lastInstant: Millis = Date.UTC(9999, 11, 31) - 1;

function toInstant(at: Millis, name: string): number {
  const ms = Math.round(at);
  if (ms >= 0 && ms <= lastInstant) return ms;
  throw new StoreError("invalid_value", `${name} must lie between 1970 and 9999: ${at}`);
}

/** The conversion of each type for storage. Null means none. Times are rounded to whole milliseconds. */
const STORED_FORMS: {
  readonly [Type in FieldType]: ((value: FieldValues[Type], name: string) => SqliteValue) | null;
} = {
  uuid: null,
  instant: toInstant,
  name: null,
  text: null,
  path: null,
  choice: null,
  id: null,
  sha256: null,
  flag: Number,
  tokens: toTokenCount,
  count: toTokenCount,
  milliseconds: Math.round,
  status: null,
  cost: null,
  counts: (counts) => JSON.stringify(counts),
};

type Convert = (value: unknown, name: string) => unknown;

const bindings = storedFields.map(({ name, type }) => ({
  name,
  isToken: type === "tokens",
  store: STORED_FORMS[type] as Convert | null,
}));

/** Writes the record's values into `values`, which is reused for each row. */
export function bindRecord(record: RequestRecord, values: SqliteValue[]): void {
  for (let at = 0; at < bindings.length; at += 1) {
    const { name, isToken, store } = bindings[at] as (typeof bindings)[number];
    const owner = (isToken ? record.tokens : record) as { readonly [Name in FieldName]?: unknown };
    const value = owner[name] ?? null;
    values[at] = (store === null || value === null ? value : store(value, name)) as SqliteValue;
  }
}

function parseCounts(text: string, column: string): Record<string, number> {
  try {
    return JSON.parse(text) as Record<string, number>;
  } catch (error) {
    throw new StoreError("corrupt", `${column} of a stored request is not JSON`, { cause: error });
  }
}

/** The inverse of `STORED_FORMS`. */
const READ_FORMS: Readonly<Partial<Record<FieldType, (value: never, column: string) => unknown>>> = {
  flag: (value: number) => value === 1,
  cost: (value: number | bigint) => BigInt(value),
  counts: parseCounts,
};

const readers = storedFields.map(({ name, column, type, optional }) => ({
  name,
  column,
  isToken: type === "tokens",
  isOptional: optional === true,
  read: (READ_FORMS[type] ?? null) as Convert | null,
}));

const TOKENS_TEMPLATE = createTemplate(readers.flatMap(({ name, isToken }) => (isToken ? [name] : [])));
const RECORD_TEMPLATE = createTemplate([
  ...["seq", "tokens", "syncedAt", "syncSkippedAt", "recomputedAt", "reassignedAt", "reassignedFrom"],
  ...readers.flatMap(({ name, isToken, isOptional }) => (isToken || isOptional ? [] : [name])),
]);

/** Converts a row to a record. Values of closed sets are not checked, since `bindRecord()` wrote them. */
export function toStoredRequest(row: RequestRow): StoredRequest {
  const tokens: Record<string, unknown> = { ...TOKENS_TEMPLATE };
  const record: Record<string, unknown> = { ...RECORD_TEMPLATE };
  for (const { name, column, isToken, isOptional, read } of readers) {
    const stored = row[column];
    const value = read === null || stored === null ? stored : read(stored, column);
    if (isToken) tokens[name] = value;
    else if (!isOptional || value !== null) record[name] = value;
  }
  record.tokens = tokens;
  record.seq = row.seq;
  record.syncedAt = row.synced_at;
  record.syncSkippedAt = row.sync_skipped_at;
  record.recomputedAt = row.recomputed_at;
  record.reassignedAt = row.reassigned_at;
  record.reassignedFrom = row.reassigned_from;
  return record as unknown as StoredRequest;
}
