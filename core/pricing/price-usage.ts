import type { CostSource, RateSource, TokenCounts } from "../values/record.ts";
import { formatCount } from "../values/text/format-count.ts";
import { divideHalfEven } from "./decimal.ts";
import { ONE_HOUR_WRITE_OF_INPUT, type PriceFactor } from "./factors.data.ts";
import { applyFactors, findFactors, findFee, findPriceLimit, normaliseServiceTier } from "./factors.ts";
import { describeFreeCall } from "./free-calls.ts";
import { findMediumRate } from "./media-rates.ts";
import { matchesRule, normaliseModelName, withoutResourcePath, withoutSnapshot } from "./model-match.ts";
import { MAX_COST_PICO_USD } from "./money.ts";
import type { PriceBook } from "./price-book.ts";
import type { RateRow, Rates, RateTier, ServiceTierRates, TokenRates } from "./rates.ts";
import { type KnownCounts, splitByCalls, type TierPortion } from "./split-by-calls.ts";
import { ESTIMATE_EXTRAS, USAGE_EXTRAS, type UsageExtra, type UsageExtraName } from "./usage-extras.ts";
import type { UsageToPrice } from "./usage-to-price.ts";

/** One line of a cost: a quantity at a rate. */
export interface CostLine {
  label: string;
  /** Tokens, requests, or other units named by the label. */
  quantity: number;
  /** Micro-USD per million units, after the factors. */
  rate: number;
  /** The rate in the price list, before the factors. */
  listRate: number;
  /** Quantity per unit: 1, or the milliseconds of an hour. */
  perUnit: number;
  costPicoUsd: bigint;
}

/** A cost with everything it was computed from. */
export interface PricedUsage {
  costPicoUsd: bigint | null;
  costSource: CostSource;
  /** The source of the rates; `null` for a cost stated by the provider and if no rate was found. */
  ratesSource: RateSource | null;
  /** The row used for the lines, even if the cost was stated by the provider. */
  row: RateRow | null;
  /** The context tier that re-rated the whole request; null if none did. */
  tier: RateTier | null;
  factors: readonly PriceFactor[];
  /** The lines that could be computed, even if the provider stated the cost or something could not be priced. */
  lines: readonly CostLine[];
  /** The sum of the lines if everything could be priced, otherwise null. */
  computedPicoUsd: bigint | null;
  /** Why no cost could be computed, for people. */
  unpricedReason: string | null;
}

/** The extras that are billed, in addition to tokens or as a part of them. Flags are not billed. */
const BILLED_EXTRAS = (Object.entries(USAGE_EXTRAS) as [UsageExtraName, UsageExtra][]).filter(
  ([, extra]) => extra.partOf !== "flag",
);

/** The extras by which a request without tokens is billed. */
const BILLED_INSTEAD_OF_TOKENS: ReadonlySet<UsageExtraName> = new Set<UsageExtraName>([
  "audio_milliseconds",
  "search_units",
  "document_pages",
  "annotated_document_pages",
  "text_messages",
]);

/**
 * Prices a request. A cost stated by the provider is used as it is. Otherwise the cost is computed from the rate row that
 * applies: each token is in exactly one line, and the lines sum to the cost.
 *
 * Decisions where docs/specification.md#money-and-rates is silent:
 * - A missing prompt or completion count makes a request unpriced; the lines show what is known. A lower bound presented as
 *   a cost would go unnoticed. Embeddings need no completion count, and requests billed by time, pages or messages need
 *   neither. Counts received before a stream was cut are priced; the record's `tokensComplete` shows that the provider may
 *   bill more.
 * - A missing cache count is 0: a provider that reports no cache bills none.
 * - Without a rate for cache reads or writes, those tokens cost the input rate. Without a rate for one-hour writes, they cost
 *   the write rate, or twice the input rate for Claude models.
 * - A modality without a rate costs what text does where the provider says so (see `findMediumRate`). Otherwise it makes the
 *   request unpriced.
 * - A model that is billed by time and has no token rates costs nothing for the tokens that its response states as well.
 * - A call without a rate that is free costs 0 (see `describeFreeCall`). A rate of the operator still applies to it.
 * - A count that is not a whole number of at least 0 makes the request unpriced.
 * - A time that is not a finite number throws a `TypeError`.
 * - A separately billed count (a search, a page) without a rate makes the request unpriced.
 */
export function priceUsage(usage: UsageToPrice, book: PriceBook): PricedUsage {
  if (!Number.isFinite(usage.at))
    throw new TypeError(`at must be a time in milliseconds since the epoch: ${JSON.stringify(usage.at)}`);
  const row = book.find(usage);
  // A list may name a free model without a rate.
  const isWithoutRate = row === null || (hasNoTokenRates(row) && describeFreeCall(usage) !== null);
  const computed = isWithoutRate ? withoutRow(usage) : computeLines(usage, row, book);
  const stated = usage.providerCostPicoUsd;
  if (stated !== null && stated >= 0n && stated <= MAX_COST_PICO_USD) {
    return { ...computed, costPicoUsd: stated, costSource: "provider", ratesSource: null };
  }
  return computed;
}

/**
 * Returns the rates of what is billed in addition to text tokens. What a pulled or operator row does not state comes from
 * the bundled row: an operator's token price does not change the price of a search.
 */
function findExtraRates(usage: UsageToPrice, { source, rates }: RateRow, book: PriceBook): Rates {
  const bundled = source === "bundled" ? null : book.findBundled(usage);
  if (bundled === null) return rates;
  const { extras, thinking, perRequest } = bundled.rates;
  return {
    ...rates,
    extras: { ...extras, ...rates.extras },
    thinking: rates.thinking ?? thinking,
    perRequest: rates.perRequest ?? perRequest,
  };
}

/** Prices a request that has no row in the book: it is free or unpriced. */
function withoutRow(usage: UsageToPrice): PricedUsage {
  const reason = `no rate for ${usage.provider} ${usage.model} on that date`;
  const priced = unpriced(null, null, [], [], reason);
  return describeFreeCall(usage) === null
    ? priced
    : { ...priced, costPicoUsd: 0n, computedPicoUsd: 0n, costSource: "computed", unpricedReason: null };
}

function unpriced(
  row: RateRow | null,
  tier: RateTier | null,
  factors: readonly PriceFactor[],
  lines: readonly CostLine[],
  unpricedReason: string,
): PricedUsage {
  return {
    costPicoUsd: null,
    costSource: "unpriced",
    ratesSource: null,
    row,
    tier,
    factors,
    lines,
    computedPicoUsd: null,
    unpricedReason,
  };
}

/** The sum of the lines so far, and the reason why the first unpriced line has no price. */
interface Bill {
  readonly row: RateRow;
  readonly lines: CostLine[];
  total: bigint;
  reason: string | null;
}

/** One line before it is priced. */
interface Item {
  readonly label: string;
  readonly quantity: number;
  readonly listRate: number | null;
  readonly factors: readonly PriceFactor[];
  readonly perUnit?: number;
}

/** Adds a line for a quantity other than 0. One without a rate makes the request unpriced. */
function addLine(bill: Bill, { label, quantity, listRate, factors, perUnit = 1 }: Item): void {
  const { row, lines } = bill;
  if (!(quantity > 0 && Number.isSafeInteger(quantity))) {
    bill.reason ??= `invalid count of ${label}: ${quantity}`;
    return;
  }
  if (listRate === null) {
    bill.reason ??= `no rate for ${label} of ${row.provider} ${row.model}`;
    return;
  }
  const rate = factors.length === 0 ? listRate : applyFactors(listRate, factors);
  const costPicoUsd = multiply(quantity, rate, perUnit);
  bill.total += costPicoUsd;
  lines.push({ label, quantity, rate, listRate, perUnit, costPicoUsd });
}

/** What determines the rates of one request. */
interface Pricing {
  readonly usage: UsageToPrice;
  readonly row: RateRow;
  /** The rates of what is billed in addition to tokens. */
  readonly besides: Rates;
  readonly priceList: string;
  readonly modelNames: readonly string[];
  readonly factors: readonly PriceFactor[];
  /** The factors without those that exempt cache reads. */
  readonly readFactors: readonly PriceFactor[];
  /** The stated rates of the service tier; null if the row has none. */
  readonly service: ServicePricing | null;
}

/** The rates that a row states for a service tier. */
interface ServicePricing {
  readonly rates: ServiceTierRates;
  /** The factors of all conditions except the service tier. */
  readonly factors: readonly PriceFactor[];
  /** Why a token without a stated rate has no price; null if the service tier has a factor. */
  readonly unknown: string | null;
}

function computeLines(usage: UsageToPrice, row: RateRow, book: PriceBook): PricedUsage {
  const besides = findExtraRates(usage, row, book);
  const counts = countTokens(usage.tokens);
  const totalInput = counts.promptTokens + counts.cacheReadTokens + counts.cacheWriteTokens;
  const split = splitByCalls(usage.extras, tierFor(row.rates.tiers, totalInput));
  const { tier } = split;
  const priceList = book.listOf(usage.provider);
  const modelNames = [
    row.model.toLowerCase(),
    withoutSnapshot(withoutResourcePath(normaliseModelName(usage.model))),
  ];
  const { serviceTier, extras, at } = usage;
  const factorsOf = (tierName: string | null) =>
    findFactors(priceList, modelNames, tierName, extras, tier !== null, at);
  const { factors, unknown } = factorsOf(serviceTier);
  const service = servicePricing(row.rates, serviceTier, unknown, () => factorsOf(null));
  const readFactors = factors.some(exemptsCacheReads)
    ? factors.filter((item) => !exemptsCacheReads(item))
    : factors;
  const pricing: Pricing = { usage, row, besides, priceList, modelNames, factors, readFactors, service };
  const reason = (service === null ? unknown : null) ?? split.unknown ?? overPriceLimit(pricing, totalInput);
  const bill: Bill = { row, lines: [], total: 0n, reason };

  const billed = addExtras(bill, pricing, counts);
  if (!(billed.isBilledByOtherThanTokens && hasNoTokenRates(row)))
    for (const portion of split.portionsOf(billed.rest)) addTokens(bill, pricing, portion);
  for (const fee of billed.fees) addLine(bill, fee);
  if (besides.perRequest !== null)
    addLine(bill, { label: "request", quantity: 1, listRate: besides.perRequest, factors: [] });

  if (!billed.isBilledByOtherThanTokens) bill.reason = missingCount(usage) ?? bill.reason;
  if (bill.total > MAX_COST_PICO_USD) bill.reason ??= "the cost exceeds the maximum cost of a call";
  if (bill.reason !== null) return unpriced(row, tier, factors, bill.lines, bill.reason);
  return {
    costPicoUsd: bill.total,
    costSource: ESTIMATE_EXTRAS.some((name) => (extras?.[name] ?? 0) > 0) ? "estimated" : "computed",
    ratesSource: row.source,
    row,
    tier,
    factors,
    lines: bill.lines,
    computedPicoUsd: bill.total,
    unpricedReason: null,
  };
}

/** Returns why a request with this much input has no price, or null: the list may end at the context window. */
function overPriceLimit({ row, priceList, modelNames }: Pricing, totalInput: number): string | null {
  const limit = row.rates.tiers.length === 0 ? findPriceLimit(priceList, modelNames) : null;
  return limit !== null && totalInput > limit
    ? `no published price above ${formatCount(limit)} input tokens`
    : null;
}

/** Returns the stated rates of the request's service tier, if the other conditions have known factors. */
function servicePricing(
  { serviceTiers }: Rates,
  serviceTier: string | null,
  unknown: string | null,
  otherFactors: () => ReturnType<typeof findFactors>,
): ServicePricing | null {
  const name = serviceTiers === undefined ? null : normaliseServiceTier(serviceTier);
  if (name === null || !Object.hasOwn(serviceTiers!, name)) return null;
  const others = otherFactors();
  return others.unknown === null ? { rates: serviceTiers![name]!, factors: others.factors, unknown } : null;
}

/** The counts of a request; a missing one is 0. */
function countTokens(tokens: TokenCounts): KnownCounts {
  const cacheWriteTokens = tokens.cacheWriteTokens ?? 0;
  return {
    promptTokens: tokens.promptTokens ?? 0,
    cacheReadTokens: tokens.cacheReadTokens ?? 0,
    completionTokens: tokens.completionTokens ?? 0,
    cacheWriteTokens,
    cacheWrite1hTokens: Math.min(tokens.cacheWrite1hTokens ?? 0, cacheWriteTokens),
    thinkingTokens: tokens.thinkingTokens ?? 0,
  };
}

/** Adds the lines of extras that are part of a count. Returns the counts without them, and the fees that come last. */
function addExtras(bill: Bill, pricing: Pricing, counts: KnownCounts) {
  const { usage, row, besides, priceList, modelNames, factors, readFactors, service } = pricing;
  const rest = { ...counts };
  const fees: Item[] = [];
  let isBilledByOtherThanTokens = false;
  if (usage.extras === null) return { rest, fees, isBilledByOtherThanTokens };
  for (const [name, { label, partOf, perUnit }] of BILLED_EXTRAS) {
    const quantity = usage.extras[name] ?? 0;
    if (quantity === 0) continue;
    const listRate = besides.extras[name] ?? findFee(priceList, modelNames, name);
    if (partOf === null || partOf === "flag") {
      fees.push({ label, quantity, listRate, factors: [], perUnit });
      isBilledByOtherThanTokens ||= BILLED_INSTEAD_OF_TOKENS.has(name);
      continue;
    }
    const rate = listRate ?? findMediumRate(name, row, besides, usage);
    // A part that exceeds the whole is limited to it, so that no token is billed twice.
    const counted = Math.min(quantity, rest[partOf]);
    if (rate === "text" || counted === 0) continue;
    rest[partOf] -= counted;
    if (rate === "time") continue;
    const by = partOf === "cacheReadTokens" ? readFactors : factors;
    if (service !== null) bill.reason ??= service.unknown;
    addLine(bill, { label, quantity: counted, listRate: rate, factors: by });
  }
  return { rest, fees, isBilledByOtherThanTokens };
}

/** Adds the token lines of one portion of a request, such as the calls above a context tier. */
function addTokens(bill: Bill, pricing: Pricing, portion: TierPortion): void {
  const { row, besides, factors, readFactors, service } = pricing;
  const { tokens, tier, suffix } = portion;
  const input = rateOf("input", row, tier);
  const output = rateOf("output", row, tier);
  const write = rateOf("cacheWrite", row, tier) ?? input;
  const written1h = Math.min(tokens.cacheWrite1hTokens, tokens.cacheWriteTokens);
  const add = (
    label: string,
    name: keyof TokenRates,
    quantity: number,
    listRate: number | null,
    by = factors,
  ): void => {
    if (quantity === 0) return;
    const stated = serviceRate(service, name, tier);
    if (service !== null && stated === null && quantity > 0) bill.reason ??= service.unknown;
    addLine(
      bill,
      stated === null
        ? { label: `${label}${suffix}`, quantity, listRate, factors: by }
        : { label: `${label}${suffix}`, quantity, listRate: stated, factors: service!.factors },
    );
  };
  add("input", "input", tokens.promptTokens, input);
  add(
    "cache read",
    "cacheRead",
    tokens.cacheReadTokens,
    rateOf("cacheRead", row, tier) ?? input,
    readFactors,
  );
  add("cache write", "cacheWrite", tokens.cacheWriteTokens - written1h, write);
  if (written1h !== 0) {
    const write1h = rateOf("cacheWrite1h", row, tier) ?? oneHourWrite(row, input) ?? write;
    add("cache write 1h", "cacheWrite1h", written1h, write1h);
  }
  add("output", "output", tokens.completionTokens, output);
  add("thinking", "output", tokens.thinkingTokens, besides.thinking ?? output);
}

/**
 * Returns the rate that the row states for the service tier. A service tier without rates for the context tier states
 * nothing for it: some providers do not offer it for long contexts.
 */
function serviceRate(
  service: ServicePricing | null,
  name: keyof TokenRates,
  tier: RateTier | null,
): number | null {
  if (service === null) return null;
  if (tier === null) return service.rates[name];
  return service.rates.tiers.find(({ aboveTokens }) => aboveTokens === tier.aboveTokens)?.[name] ?? null;
}

/** Whether the list prices the model by something else than tokens. */
function hasNoTokenRates({ rates }: RateRow): boolean {
  return rates.input === null && rates.output === null;
}

function missingCount({ tokens, requestKind }: UsageToPrice): string | null {
  if (tokens.promptTokens === null) return "the provider stated no input count";
  if (tokens.completionTokens === null && requestKind !== "embedding") {
    return "the provider stated no output count";
  }
  return null;
}

function exemptsCacheReads(item: PriceFactor): boolean {
  return item.exceptCacheReads;
}

/** Returns the context tier of the total input (fresh, read and written). Its rates apply to the whole request. */
function tierFor(tiers: readonly RateTier[], totalInput: number): RateTier | null {
  let found: RateTier | null = null;
  for (const tier of tiers) if (totalInput > tier.aboveTokens) found = tier;
  return found;
}

function rateOf(name: keyof TokenRates, row: RateRow, tier: RateTier | null): number | null {
  return tier?.[name] ?? row.rates[name];
}

/** Returns the rate of a one-hour cache write that a list does not state but the provider derives from the input's; null if none. */
export function oneHourWrite(row: RateRow, input: number | null): number | null {
  const { models, numerator, denominator } = ONE_HOUR_WRITE_OF_INPUT;
  return input !== null && matchesRule(models, row.model.toLowerCase())
    ? (input * numerator) / denominator
    : null;
}

/**
 * Multiplies quantity and rate to pico-USD. Rounded half to even if a unit is more than one of the quantity, otherwise
 * exact.
 */
function multiply(quantity: number, rate: number, perUnit: number): bigint {
  const product = quantity * rate;
  const exact = product <= Number.MAX_SAFE_INTEGER ? BigInt(product) : BigInt(quantity) * BigInt(rate);
  return perUnit === 1 ? exact : divideHalfEven(exact, BigInt(perUnit));
}
