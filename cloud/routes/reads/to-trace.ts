import { effectiveBilling } from "../../../core/values/billing.ts";
import type { BillingMode } from "../../../core/values/record.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import { type Trace, type TraceSummary, traceSchema, traceSummarySchema } from "../../../core/wire/traces.ts";
import type { TraceRow } from "../../store/reads/traces.ts";
import { REQUEST_COLUMNS, type RequestColumn } from "../../store/request-columns.ts";

/** The fields that `toTrace()` converts one by one. */
const HEAD_FIELDS: readonly string[] = ["request_id", "requested_at", "received_at", "clock_skewed"];

const SUMMARY_FIELDS = Object.keys(traceSummarySchema.entries) as (keyof TraceSummary)[];

/** The columns that a trace shows as they are stored. Postgres returns a `bigint` as text; here each is a safe integer. */
const TRACE_COLUMNS = (Object.keys(REQUEST_COLUMNS) as RequestColumn[])
  .filter((column) => column in traceSchema.entries && !HEAD_FIELDS.includes(column))
  .map((column) => ({ column, isCount: REQUEST_COLUMNS[column] === "bigint" }));

/** Converts a stored request to its wire format; the sender's name is their id if they have none. */
export function toTrace(row: TraceRow, names: ReadonlyMap<string, string>): Trace {
  const trace: Record<string, unknown> = {
    request_id: row.request_id,
    requested_at: formatInstant(row.requested_at),
    received_at: formatInstant(row.received_at),
    clock_skewed: row.clock_skewed,
    user: { id: row.user_id, name: names.get(row.user_id) ?? row.user_id },
    machine: row.machine_id === null ? null : { id: row.machine_id, hostname: row.hostname ?? "" },
  };
  for (const { column, isCount } of TRACE_COLUMNS) {
    const value = row[column];
    trace[column] = isCount && value !== null ? Number(value) : value;
  }
  trace.billing_mode = effectiveBilling({
    billingMode: row.billing_mode as BillingMode | null,
    provider: row.provider,
  });
  return trace as Trace;
}

/** Converts a stored request to an item of a list. */
export function toTraceSummary(row: TraceRow, names: ReadonlyMap<string, string>): TraceSummary {
  const trace = toTrace(row, names);
  return Object.fromEntries(SUMMARY_FIELDS.map((field) => [field, trace[field]])) as TraceSummary;
}
