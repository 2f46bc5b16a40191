import { fromMinorUnits } from "../pricing/mod.ts";
import type { CostSource, ErrorClass, RateSource, RequestKind, TokenCounts } from "../record.ts";
import type { Millis } from "../time.ts";
import { type MetadataRecord, parseInstant } from "../wire/mod.ts";

/** A record as the cloud works with it; `null` is what the sender held back or did not know. */
export interface ReceivedRecord {
  readonly requestId: string;
  readonly requestedAt: Millis;
  readonly provider: string;
  readonly model: string;
  readonly requestedModel: string | null;
  readonly requestKind: RequestKind | null;
  readonly streaming: boolean | null;
  readonly tokens: TokenCounts;
  readonly tokensComplete: boolean | null;
  /** The daemon's figure, exact where it sent the exact one. */
  readonly reportedCostPicoUsd: bigint | null;
  readonly costSource: CostSource | null;
  readonly providerCostPicoUsd: bigint | null;
  readonly ratesSource: RateSource | null;
  readonly serviceTier: string | null;
  readonly usageExtras: Readonly<Record<string, number>> | null;
  readonly latencyMs: number | null;
  readonly ttfbMs: number | null;
  readonly httpStatus: number | null;
  readonly errorClass: ErrorClass | null;
  readonly providerErrorCode: string | null;
  readonly retryable: boolean | null;
  readonly project: string | null;
  readonly attributionTier: string | null;
  readonly promptHash: string | null;
  readonly method: string | null;
  readonly path: string | null;
  readonly sourceWorkdir: string | null;
}

/** The inverse of `toOutgoingRecord`, on the cloud's side: a record that its schema has taken. */
export function toReceivedRecord(wire: MetadataRecord): ReceivedRecord {
  const at = parseInstant(wire.requested_at);
  if (at === null) throw new RangeError(`requested_at is no time: ${wire.requested_at}`);
  return {
    requestId: wire.request_id,
    requestedAt: at,
    provider: wire.provider,
    model: wire.model,
    requestedModel: wire.requested_model,
    requestKind: wire.request_kind,
    streaming: wire.streaming,
    tokens: {
      promptTokens: wire.prompt_tokens,
      cacheReadTokens: wire.cache_read_tokens,
      cacheWriteTokens: wire.cache_write_tokens,
      cacheWrite1hTokens: wire.cache_write_1h_tokens,
      completionTokens: wire.completion_tokens,
      thinkingTokens: wire.thinking_tokens,
    },
    tokensComplete: wire.tokens_complete,
    reportedCostPicoUsd: reportedCost(wire),
    costSource: wire.cost_source,
    providerCostPicoUsd: wire.provider_cost_pico_usd === null ? null : BigInt(wire.provider_cost_pico_usd),
    ratesSource: wire.rates_source,
    serviceTier: wire.service_tier,
    usageExtras: wire.usage_extras,
    latencyMs: wire.latency_ms,
    ttfbMs: wire.ttfb_ms,
    httpStatus: wire.http_status,
    errorClass: wire.error_class,
    providerErrorCode: wire.provider_error_code,
    retryable: wire.retryable,
    project: wire.project,
    attributionTier: wire.attribution_tier,
    promptHash: wire.prompt_hash,
    method: wire.method,
    path: wire.path,
    sourceWorkdir: wire.source_workdir,
  };
}

/** The exact cost, or minor units × 10^7 where an older daemon sent only those. Source: decisions, "Tokens and money". */
function reportedCost(wire: MetadataRecord): bigint | null {
  if (wire.cost_pico_usd !== null) return BigInt(wire.cost_pico_usd);
  return wire.cost_usd_minor_units === null ? null : fromMinorUnits(wire.cost_usd_minor_units);
}

/** How far off a sender's clock may be before its records are flagged, milliseconds. Source: decisions, "Metadata batch". */
export const CLOCK_SKEW_MAX_MS = 23 * 3_600_000;

/**
 * Whether a record's time shows that the sender's clock is off. Only the future shows it: an old record may have waited
 * that long.
 */
export function isClockSkewed(requestedAt: Millis, receivedAt: Millis): boolean {
  return requestedAt - receivedAt > CLOCK_SKEW_MAX_MS;
}
