/**
 * What a request costs, exactly. A rate is an integer number of micro-USD per million tokens, so that one token at rate
 * `r` costs `r` pico-USD, and a cost is a bigint of pico-USD: no floating point touches money. A price book holds
 * dated rows from three sources (bundled, pulled, the operator's) and says which applies; `priceUsage` turns counts into
 * lines that sum to the cost and show each step. What can't be priced has no cost and says why.
 *
 * ```ts
 * import { createPriceBook, formatUsd, loadBundledRates, priceUsage } from "./mod.ts";
 *
 * const book = createPriceBook(loadBundledRates());
 * const priced = priceUsage(
 *   {
 *     provider: "anthropic",
 *     model: "claude-haiku-4-5-20251001",
 *     requestedModel: "claude-haiku-4-5",
 *     at: Date.UTC(2026, 10, 21),
 *     tokens: {
 *       promptTokens: 1_000,
 *       cacheReadTokens: 20_000,
 *       cacheWriteTokens: 0,
 *       cacheWrite1hTokens: null,
 *       completionTokens: 400,
 *       thinkingTokens: null,
 *     },
 *     extras: null,
 *     serviceTier: "standard",
 *     providerCostPicoUsd: null,
 *     requestKind: "chat",
 *   },
 *   book,
 * );
 * console.log(priced.costPicoUsd, formatUsd(priced.costPicoUsd ?? 0n)); // 5000000000n "$0.005"
 * ```
 */

export { BUNDLED_RATES_DATE, BUNDLED_RATES_SOURCE, ROUNDED_RATES } from "./bundled-rates.data.ts";
export { loadBundledRates } from "./bundled-rates.ts";
export { divideHalfEven, PICO_USD_PER_USD, parseDecimal, parseDecimalToPico } from "./decimal.ts";
export { EXTRA_FEES, type ExtraFee, PRICE_FACTORS, type PriceFactor } from "./factors.data.ts";
export { normaliseServiceTier } from "./factors.ts";
export {
  clampPullInterval,
  DEFAULT_PULL_INTERVAL_MS,
  isPullUrlAllowed,
  judgePull,
  MAX_RATE_MOVE,
  MIN_PULL_INTERVAL_MS,
  type PullVerdict,
  RATE_CEILING_MICRO_USD,
  type RatePull,
} from "./guard.ts";
export { MAX_MODEL_NAME_LENGTH, type MatchRule, matchesRule } from "./model-match.ts";
export {
  formatPicoUsd,
  formatRateText,
  formatUsd,
  fromMinorUnits,
  PICO_USD_PER_MINOR_UNIT,
  parseRateText,
  toMinorUnits,
} from "./money.ts";
export { createPriceBook, type PriceBook, type RateQuery } from "./price-book.ts";
export { type CostLine, type PricedUsage, priceUsage, type UsageToPrice } from "./price-usage.ts";
export { priceListOf } from "./provider-names.ts";
export {
  type PublishedRate,
  type PublishedTokenRates,
  type RateProblem,
  readPublishedRate,
  toPublishedRate,
} from "./published-rates.ts";
export type { DailyWindow, RateRow, Rates, RateTier, TokenRates } from "./rates.ts";
export {
  CALL_EXTRAS,
  type CallExtraName,
  ESTIMATE_EXTRAS,
  USAGE_EXTRAS,
  type UsageExtra,
  type UsageExtraName,
} from "./usage-extras.ts";
