import { isClockSkewed, type ReceivedRecord } from "../../core/policy/mod.ts";
import { type PriceBook, priceUsage } from "../../core/pricing/mod.ts";
import type { RequestKind } from "../../core/record.ts";
import type { Millis } from "../../core/time.ts";
import { formatInstant } from "../../core/wire/mod.ts";
import { FILLABLE_COLUMNS } from "./request-columns.ts";

/** A row of `requests` without its workspace, as JSON: counts are safe integers, money is text, times are ISO 8601. */
export interface StoredRequest {
  readonly request_id: string;
  readonly requested_at: string;
  readonly received_at: string;
  readonly clock_skewed: boolean;
  readonly machine_id: string | null;
  readonly user_id: string;
  readonly provider: string;
  readonly model: string;
  readonly requested_model: string | null;
  readonly request_kind: RequestKind | null;
  readonly streaming: boolean | null;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly cache_read_tokens: number | null;
  readonly cache_write_tokens: number | null;
  readonly cache_write_1h_tokens: number | null;
  readonly thinking_tokens: number | null;
  readonly tokens_complete: boolean | null;
  readonly cost_pico_usd: string | null;
  readonly cost_source: string;
  readonly rates_source: string | null;
  readonly reported_cost_pico_usd: string | null;
  readonly reported_cost_source: string | null;
  readonly reported_rates_source: string | null;
  readonly provider_cost_pico_usd: string | null;
  readonly service_tier: string | null;
  readonly usage_extras: Readonly<Record<string, number>> | null;
  readonly latency_ms: number | null;
  readonly ttfb_ms: number | null;
  readonly http_status: number | null;
  readonly error_class: string | null;
  readonly provider_error_code: string | null;
  readonly retryable: boolean | null;
  readonly project: string | null;
  readonly attribution_tier: string | null;
  readonly prompt_hash: string | null;
  readonly method: string | null;
  readonly path: string | null;
  readonly source_workdir: string | null;
}

/** Who sends a record and when, which the record itself never says. */
export interface Sender {
  readonly machineId: string | null;
  readonly userId: string;
  readonly receivedAt: Millis;
}

/** A received record as it is stored, with the cloud's own cost. */
export function toStoredRequest(record: ReceivedRecord, sender: Sender, book: PriceBook): StoredRequest {
  const { tokens } = record;
  return priced(
    {
      // One UUID, one spelling: PostgreSQL's own.
      request_id: record.requestId.toLowerCase(),
      requested_at: formatInstant(record.requestedAt),
      received_at: formatInstant(sender.receivedAt),
      clock_skewed: isClockSkewed(record.requestedAt, sender.receivedAt),
      machine_id: sender.machineId,
      user_id: sender.userId,
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
      cost_pico_usd: null,
      cost_source: "unpriced",
      rates_source: null,
      reported_cost_pico_usd: record.reportedCostPicoUsd?.toString() ?? null,
      reported_cost_source: record.costSource,
      reported_rates_source: record.ratesSource,
      provider_cost_pico_usd: record.providerCostPicoUsd?.toString() ?? null,
      service_tier: record.serviceTier,
      usage_extras: record.usageExtras,
      latency_ms: record.latencyMs,
      ttfb_ms: record.ttfbMs,
      http_status: record.httpStatus,
      error_class: record.errorClass,
      provider_error_code: record.providerErrorCode,
      retryable: record.retryable,
      project: record.project,
      attribution_tier: record.attributionTier,
      prompt_hash: record.promptHash,
      method: record.method,
      path: record.path,
      source_workdir: record.sourceWorkdir,
    },
    book,
  );
}

/** The row with what the same record says now where nothing was said before; null where that is nothing. A cost once found stays. */
export function fillNulls(stored: StoredRequest, sent: StoredRequest, book: PriceBook): StoredRequest | null {
  const news = FILLABLE_COLUMNS.filter((column) => stored[column] === null && sent[column] !== null);
  if (news.length === 0) return null;
  const filled = { ...stored, ...Object.fromEntries(news.map((column) => [column, sent[column]])) };
  return stored.cost_pico_usd === null ? priced(filled, book) : filled;
}

/**
 * Decision: a record that holds back its kind, whose usage is complete without an output count, is an embedding: nothing
 * else ends without output, and without that a daemon's `minimal` preset would leave embeddings unpriced.
 */
function kindOf({ request_kind, tokens_complete, completion_tokens }: StoredRequest): RequestKind {
  if (request_kind !== null) return request_kind;
  return tokens_complete === true && completion_tokens === null ? "embedding" : "other";
}

function priced(row: StoredRequest, book: PriceBook): StoredRequest {
  const found = priceUsage(
    {
      provider: row.provider,
      model: row.model,
      requestedModel: row.requested_model,
      at: Date.parse(row.requested_at),
      tokens: {
        promptTokens: row.prompt_tokens,
        cacheReadTokens: row.cache_read_tokens,
        cacheWriteTokens: row.cache_write_tokens,
        cacheWrite1hTokens: row.cache_write_1h_tokens,
        completionTokens: row.completion_tokens,
        thinkingTokens: row.thinking_tokens,
      },
      extras: row.usage_extras,
      serviceTier: row.service_tier,
      providerCostPicoUsd: row.provider_cost_pico_usd === null ? null : BigInt(row.provider_cost_pico_usd),
      requestKind: kindOf(row),
    },
    book,
  );
  return {
    ...row,
    cost_pico_usd: found.costPicoUsd?.toString() ?? null,
    cost_source: found.costSource,
    rates_source: found.ratesSource,
  };
}
