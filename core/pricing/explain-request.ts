import { effectiveBilling } from "../values/billing.ts";
import type { RequestRecord } from "../values/record.ts";
import { formatCount } from "../values/text/format-count.ts";
import { HOUR_MS } from "../values/time.ts";
import { describeFreeCall } from "./free-calls.ts";
import { formatPicoUsd, formatRate } from "./money.ts";
import type { PriceBook } from "./price-book.ts";
import { type CostLine, type PricedUsage, priceUsage } from "./price-usage.ts";
import { USAGE_EXTRAS } from "./usage-extras.ts";
import type { UsageToPrice } from "./usage-to-price.ts";

/** The fields of a request that its cost follows from, and the stored cost. */
export type PricedRequest = Pick<
  RequestRecord,
  | "billingMode"
  | "costPicoUsd"
  | "costSource"
  | "model"
  | "provider"
  | "providerCostPicoUsd"
  | "recordSource"
  | "requestKind"
  | "requestedAt"
  | "requestedModel"
  | "serviceTier"
  | "tokens"
  | "usageExtras"
>;

/** A request with the calculation of its cost. */
export interface Explanation<Request extends PricedRequest = RequestRecord> {
  request: Request;
  /** The price by the current price book, for the time of the request. */
  priced: PricedUsage;
  /** Whether that price equals the stored cost. If not, `recompute-costs` would change the cost. */
  agrees: boolean;
  /** A description of the rate that applied. */
  rate: string | null;
}

/** Whether the cost is what an agent's log states, and no rate is known that would replace it. */
export function keepsAgentFigure(
  { recordSource, costSource }: Pick<RequestRecord, "recordSource" | "costSource">,
  { costPicoUsd }: Pick<PricedUsage, "costPicoUsd">,
): boolean {
  return recordSource === "logs" && costSource === "estimated" && costPicoUsd === null;
}

/** Prices a stored request again and compares the result with the stored cost. */
export function explainRequest<Request extends PricedRequest>(
  request: Request,
  book: PriceBook,
): Explanation<Request> {
  const usage = usageOf(request);
  const priced = priceUsage(usage, book);
  const { row } = priced;
  return {
    request,
    priced,
    agrees: priced.costPicoUsd === request.costPicoUsd || keepsAgentFigure(request, priced),
    rate:
      row === null
        ? describeFreeCall(usage)
        : `${row.provider} ${row.model}, ${row.origin?.name ?? row.source} rates of ${row.provenanceDate}` +
          (priced.tier === null ? "" : `, above ${priced.tier.aboveTokens} input tokens`),
  };
}

const usageOf = (request: PricedRequest): UsageToPrice => ({
  provider: request.provider,
  model: request.model,
  requestedModel: request.requestedModel,
  requestKind: request.requestKind,
  at: request.requestedAt,
  tokens: request.tokens,
  extras: request.usageExtras,
  serviceTier: request.serviceTier,
  providerCostPicoUsd: request.providerCostPicoUsd,
  billingMode: effectiveBilling(request),
});

/** The counts of cached tokens that are fresh input without a cache, by the count of fresh input that they are added to. */
const FRESH_EXTRAS: Readonly<Record<string, string>> = {
  audio_cache_read_tokens: "audio_input_tokens",
  image_cache_read_tokens: "image_input_tokens",
  above_200k_cache_read_tokens: "above_200k_prompt_tokens",
  above_200k_cache_write_tokens: "above_200k_prompt_tokens",
};

/** What only a request with a cache has: a part of another count, and the storage of the cache. */
const CACHE_ONLY_EXTRAS: readonly string[] = [
  "above_200k_cache_write_1h_tokens",
  "cache_storage_token_hours",
];

/**
 * Prices a request as if each token that was read from or written to a cache had been fresh input. Returns null if it used no cache, or if
 * its cost can't be computed.
 */
export function priceWithoutCache(request: PricedRequest, book: PriceBook): bigint | null {
  const usage = usageOf(request);
  const { promptTokens, cacheReadTokens, cacheWriteTokens } = usage.tokens;
  const cached = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  if (promptTokens === null || cached === 0) return null;
  const extras: Record<string, number> = {};
  for (const [name, count] of Object.entries(usage.extras ?? {})) {
    if (CACHE_ONLY_EXTRAS.includes(name)) continue;
    const fresh = FRESH_EXTRAS[name] ?? name;
    extras[fresh] = (extras[fresh] ?? 0) + count;
  }
  const tokens = {
    ...usage.tokens,
    promptTokens: promptTokens + cached,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
  };
  return priceUsage({ ...usage, tokens, extras }, book).computedPicoUsd;
}

/** Formats the quantity of a cost line with thousands separators. */
export function formatLineQuantity({ quantity, perUnit }: CostLine): string {
  const text = formatCount(quantity);
  return perUnit === HOUR_MS ? `${text} ms` : text;
}

/** Formats a rate as price lists show it: per million tokens, per item, or per hour. */
export function formatLineRate({ label, perUnit }: CostLine, rate: number): string {
  // Micro-USD per million equals pico-USD per unit.
  if (perUnit === HOUR_MS) return `$${formatPicoUsd(BigInt(rate))} an hour`;
  return labelsBilledEach.has(label) ? `$${formatPicoUsd(BigInt(rate))} each` : `$${formatRate(rate)} / M`;
}

/** The labels of cost lines that are billed per item. */
const labelsBilledEach: ReadonlySet<string> = new Set([
  "request",
  ...Object.entries(USAGE_EXTRAS)
    .filter(([name, { partOf }]) => partOf === null && !name.endsWith("_tokens"))
    .map(([, { label }]) => label),
]);
