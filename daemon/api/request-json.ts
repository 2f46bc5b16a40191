import { formatPicoUsd } from "../../core/pricing/mod.ts";
import type { RequestRecord } from "../../core/record.ts";
import type { RequestItem } from "../../core/wire/mod.ts";

/** Exact money in its two spellings; null where it is unknown. */
export function moneyJson(picoUsd: bigint | null): { cost_pico_usd: string | null; cost_usd: string | null } {
  return {
    cost_pico_usd: picoUsd === null ? null : picoUsd.toString(),
    cost_usd: picoUsd === null ? null : formatPicoUsd(picoUsd),
  };
}

/** A request in the words of the wire. */
export function requestJson(record: RequestRecord): RequestItem {
  const { tokens } = record;
  return {
    request_id: record.requestId,
    requested_at: new Date(record.requestedAt).toISOString(),
    project: record.project,
    provider: record.provider,
    model: record.model,
    requested_model: record.requestedModel,
    request_kind: record.requestKind,
    streaming: record.streaming,
    prompt_tokens: tokens.promptTokens,
    completion_tokens: tokens.completionTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    cache_write_1h_tokens: tokens.cacheWrite1hTokens,
    thinking_tokens: tokens.thinkingTokens,
    tokens_complete: record.tokensComplete,
    ...moneyJson(record.costPicoUsd),
    cost_source: record.costSource,
    provider_cost_pico_usd: record.providerCostPicoUsd?.toString() ?? null,
    rates_source: record.ratesSource,
    service_tier: record.serviceTier,
    usage_extras: record.usageExtras,
    latency_ms: record.latencyMs,
    ttfb_ms: record.ttfbMs,
    http_status: record.httpStatus,
    error_class: record.errorClass,
    provider_error_code: record.providerErrorCode,
    retryable: record.retryable,
    attribution_tier: record.attributionTier,
    client: record.client,
    method: record.method,
    host: record.host,
    path: record.path,
    api: record.api,
    prompt_hash: record.promptHash,
    source_workdir: record.sourceWorkdir,
    provider_response_id: record.providerResponseId,
  };
}
