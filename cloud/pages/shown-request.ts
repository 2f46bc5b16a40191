import type { RequestRecord, TokenCounts } from "../../core/values/record.ts";
import { UNKNOWN_FIELDS } from "../../core/values/record-fields.ts";
import type { ShownRequest } from "../../pages/views/shown-request.ts";
import type { TraceRow } from "../store/reads/traces.ts";
import { STATED_FIELDS } from "../store/request-columns.ts";
import { kindOf } from "../store/stored-request.ts";

/** Converts a stored request for a page. Its cost is the cloud's own; what was not sent is null. */
export function toShownRequest(row: TraceRow): ShownRequest {
  const fields: Record<string, unknown> = {};
  const tokens: Record<string, unknown> = {};
  for (const { name, column, type } of STATED_FIELDS) {
    const value = row[column];
    if (type === "tokens") tokens[name] = toNumber(value);
    else if (type === "count" || type === "milliseconds") fields[name] = toNumber(value);
    else fields[name] = type === "cost" ? toBigInt(value) : value;
  }
  return {
    host: null,
    ...UNKNOWN_FIELDS,
    ...fields,
    requestKind: kindOf(row as Parameters<typeof kindOf>[0]),
    project: row.project ?? "",
    costPicoUsd: toBigInt(row.cost_pico_usd),
    costSource: row.cost_source as RequestRecord["costSource"],
    ratesSource: row.rates_source as RequestRecord["ratesSource"],
    tokens: tokens as unknown as TokenCounts,
  } as ShownRequest;
}

/** Postgres returns a `bigint` as text; a count is a safe integer. */
const toNumber = (value: unknown): number | null => (value === null ? null : Number(value));

const toBigInt = (value: unknown): bigint | null => (value === null ? null : BigInt(value as string));
