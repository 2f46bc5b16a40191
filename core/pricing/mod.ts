/**
 * Computes the exact cost of a request. A rate is an integer number of micro-USD per million tokens, so that one token at
 * rate `r` costs `r` pico-USD, and a cost is a bigint of pico-USD: no floating point is used for money. A price book holds
 * dated rows from three sources (bundled, pulled, operator) and finds the one that applies. `priceUsage` turns counts into
 * lines that sum to the cost. Usage that cannot be priced has no cost, and a reason.
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
 * console.log(priced.costPicoUsd, formatUsd(priced.costPicoUsd ?? 0n)); // 5000000000n $0.005
 * ```
 *
 * `savings/` finds ways to save money; `reconcile/` compares the daemon's totals with the cloud's:
 *
 * ```ts
 * import { findSavings, judgeVariance } from "./mod.ts";
 *
 * const model = { provider: "openai", model: "gpt-5", project: "docs" };
 * const repeated = { ...model, requests: 12, costPicoUsd: 3_000_000_000n, unknownBillingPicoUsd: 0n };
 * console.log(findSavings([], [repeated])[0]?.kind); // repeated_prompt
 * console.log(judgeVariance(1_000_000n, 1_004_999n)); // tolerance
 * ```
 *
 * @module
 */

export type { PublishedRate, RatePull } from "../wire/pricing-rates.ts";
export { loadBundledRates } from "./bundled-rates.ts";
export { PICO_USD_PER_USD } from "./decimal.ts";
export type { PriceFactor } from "./factors.data.ts";
export { judgePull, type PullVerdict } from "./guard.ts";
export { formatPicoUsd, formatUsd } from "./money.ts";
export { createPriceBook, type PriceBook, type PriceBookOptions, type RateQuery } from "./price-book.ts";
export { type CostLine, type PricedUsage, priceUsage } from "./price-usage.ts";
export { type RateProblem, readPublishedRate, toPublishedRate } from "./published-rates.ts";
export type { RateRow, Rates, RateTier, TokenRates } from "./rates.ts";
export {
  type CloudDay,
  type DayVariance,
  type LocalModelDay,
  type ModelVariance,
  type Reconciliation,
  reconcile,
  type VarianceCause,
} from "./reconcile/reconcile.ts";
export { judgeVariance, type VarianceVerdict } from "./reconcile/variance.ts";
export {
  findSavings,
  type ModelUsage,
  type RepeatedPrompts,
  type Saving,
  type SavingKind,
} from "./savings/find-savings.ts";
export type { UsageToPrice } from "./usage-to-price.ts";
