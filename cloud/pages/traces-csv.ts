import { formatPicoUsd } from "../../core/pricing/money.ts";
import { formatCsvLine } from "../../core/values/text/format-csv-field.ts";
import type { TraceSummary } from "../../core/wire/traces.ts";

type Value = string | number | boolean | null | undefined;

/** The columns, in the order of a machine's own file where both have them. */
const COLUMNS: readonly (readonly [name: string, read: (trace: TraceSummary) => Value])[] = [
  ["request_id", (trace) => trace.request_id],
  ["requested_at", (trace) => trace.requested_at],
  ["project", (trace) => trace.project],
  ["person", ({ user }) => user?.name],
  ["machine", ({ machine }) => machine?.hostname],
  ["provider", (trace) => trace.provider],
  ["model", (trace) => trace.model],
  ["request_kind", (trace) => trace.request_kind],
  ["streaming", (trace) => trace.streaming],
  ["prompt_tokens", (trace) => trace.prompt_tokens],
  ["cache_read_tokens", (trace) => trace.cache_read_tokens],
  ["cache_write_tokens", (trace) => trace.cache_write_tokens],
  ["completion_tokens", (trace) => trace.completion_tokens],
  ["thinking_tokens", (trace) => trace.thinking_tokens],
  ["tokens_complete", (trace) => trace.tokens_complete],
  ["cost_usd", ({ cost_pico_usd: cost }) => (cost == null ? null : formatPicoUsd(BigInt(cost)))],
  ["billing_mode", (trace) => trace.billing_mode],
  ["http_status", (trace) => trace.http_status],
  ["error_class", (trace) => trace.error_class],
  ["latency_ms", (trace) => trace.latency_ms],
  ["ttfb_ms", (trace) => trace.ttfb_ms],
];

/** Formats requests as CSV (RFC 4180) with a header line. Unknown values are empty. */
export function tracesCsv(traces: readonly TraceSummary[]): string {
  const rows = traces.map((trace) => COLUMNS.map(([, read]) => read(trace) ?? null));
  return [COLUMNS.map(([name]) => name), ...rows].map(formatCsvLine).join("");
}
