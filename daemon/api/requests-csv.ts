import { formatCsvLine } from "../../core/values/text/format-csv-field.ts";
import type { RequestItem } from "../../core/wire/loopback-data.ts";

const columns = [
  "request_id",
  "requested_at",
  "project",
  "provider",
  "model",
  "requested_model",
  "request_kind",
  "streaming",
  "prompt_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "completion_tokens",
  "thinking_tokens",
  "tokens_complete",
  "cost_usd",
  "cost_source",
  "billing_mode",
  "http_status",
  "error_class",
  "latency_ms",
  "ttfb_ms",
  "client",
  "attribution_tier",
] as const satisfies readonly (keyof RequestItem)[];

/** Formats requests as CSV (RFC 4180) with a header line. Unknown values are empty. */
export function requestsCsv(items: readonly RequestItem[]): string {
  const rows = items.map((item) => columns.map((column) => item[column] ?? null));
  return [columns, ...rows].map(formatCsvLine).join("");
}
