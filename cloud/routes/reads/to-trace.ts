import type { ErrorClass, RateSource, RequestKind } from "../../../core/record.ts";
import { formatInstant, type Trace, type TraceSummary, traceSummarySchema } from "../../../core/wire/mod.ts";
import type { TraceRow } from "../../store/reads/traces.ts";

const SUMMARY_FIELDS = Object.keys(traceSummarySchema.entries) as (keyof TraceSummary)[];

/** A stored request as it is shown; its sender under their name, or their id where they have none. */
export function toTrace(row: TraceRow, names: ReadonlyMap<string, string>): Trace {
  return {
    request_id: row.request_id,
    requested_at: formatInstant(row.requested_at),
    received_at: formatInstant(row.received_at),
    clock_skewed: row.clock_skewed,
    user: { id: row.user_id, name: names.get(row.user_id) ?? row.user_id },
    machine: row.machine_id === null ? null : { id: row.machine_id, hostname: row.hostname ?? "" },
    provider: row.provider,
    model: row.model,
    requested_model: row.requested_model,
    // What was stored had passed the wire's schema.
    request_kind: row.request_kind as RequestKind | null,
    streaming: row.streaming,
    prompt_tokens: toCount(row.prompt_tokens),
    completion_tokens: toCount(row.completion_tokens),
    cache_read_tokens: toCount(row.cache_read_tokens),
    cache_write_tokens: toCount(row.cache_write_tokens),
    cache_write_1h_tokens: toCount(row.cache_write_1h_tokens),
    thinking_tokens: toCount(row.thinking_tokens),
    tokens_complete: row.tokens_complete,
    cost_pico_usd: row.cost_pico_usd,
    cost_source: row.cost_source as Trace["cost_source"],
    rates_source: row.rates_source as RateSource | null,
    reported_cost_pico_usd: row.reported_cost_pico_usd,
    provider_cost_pico_usd: row.provider_cost_pico_usd,
    service_tier: row.service_tier,
    usage_extras: row.usage_extras,
    latency_ms: toCount(row.latency_ms),
    ttfb_ms: toCount(row.ttfb_ms),
    http_status: row.http_status,
    error_class: row.error_class as ErrorClass | null,
    provider_error_code: row.provider_error_code,
    retryable: row.retryable,
    project: row.project,
    attribution_tier: row.attribution_tier,
    prompt_hash: row.prompt_hash,
    method: row.method,
    path: row.path,
    source_workdir: row.source_workdir,
  };
}

/** The same as a line of a list. */
export function toTraceSummary(row: TraceRow, names: ReadonlyMap<string, string>): TraceSummary {
  const trace = toTrace(row, names);
  return Object.fromEntries(SUMMARY_FIELDS.map((field) => [field, trace[field]])) as TraceSummary;
}

/** The wire takes no count that a double does not hold. */
function toCount(text: string | null): number | null {
  return text === null ? null : Number(text);
}
