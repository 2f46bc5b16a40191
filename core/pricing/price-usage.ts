import type { CostSource, RateSource, RequestKind, TokenCounts } from "../record.ts";
import type { Millis } from "../time.ts";
import { divideHalfEven } from "./decimal.ts";
import { ONE_HOUR_WRITE_OF_INPUT, type PriceFactor } from "./factors.data.ts";
import { applyFactors, findFactors, findFee } from "./factors.ts";
import { matchesRule, normaliseModelName, withoutResourcePath, withoutSnapshot } from "./model-match.ts";
import { MAX_COST_PICO_USD } from "./money.ts";
import type { PriceBook } from "./price-book.ts";
import { priceListOf } from "./provider-names.ts";
import type { RateRow, Rates, RateTier, TokenRates } from "./rates.ts";
import { splitByCalls } from "./split-by-calls.ts";
import { ESTIMATE_EXTRAS, USAGE_EXTRAS, type UsageExtra, type UsageExtraName } from "./usage-extras.ts";

/** What a request used, and of what. */
export interface UsageToPrice {
  provider: string;
  /** The model as answered. */
  model: string;
  requestedModel: string | null;
  at: Millis;
  tokens: TokenCounts;
  extras: Readonly<Record<string, number>> | null;
  serviceTier: string | null;
  /** The cost that the provider itself stated. */
  providerCostPicoUsd: bigint | null;
  requestKind: RequestKind;
}

/** One line of the sum: so many of something at a rate. */
export interface CostLine {
  label: string;
  /** Tokens, requests or whatever the label names. */
  quantity: number;
  /** Micro-USD for a million units, after the factors. */
  rate: number;
  /** The rate before the factors, as the price list states it. */
  listRate: number;
  /** How many of the quantity make one unit: 1, or the milliseconds of an hour. */
  perUnit: number;
  costPicoUsd: bigint;
}

/** A cost with everything that led to it. */
export interface PricedUsage {
  costPicoUsd: bigint | null;
  costSource: CostSource;
  /** Where the rates came from that make up the cost; `null` for a provider's own cost and where nothing was found. */
  ratesSource: RateSource | null;
  /** The row that the lines were computed with, also where the provider's own cost was taken. */
  row: RateRow | null;
  /** The context tier that re-rated the whole request. */
  tier: RateTier | null;
  factors: readonly PriceFactor[];
  /** What could be computed, also where the provider's cost was taken or something could not be priced. */
  lines: readonly CostLine[];
  /** The sum of the lines where all that was used could be priced. */
  computedPicoUsd: bigint | null;
  /** Why no cost could be computed, in words. */
  unpricedReason: string | null;
}

/** Names among the extras that are billed beside the tokens or as a part of them; flags are not. */
const BILLED_EXTRAS = (Object.entries(USAGE_EXTRAS) as [UsageExtraName, UsageExtra][]).filter(
  ([, extra]) => extra.partOf !== "flag",
);

/** What a request can be billed by that has no tokens. */
const BILLED_INSTEAD_OF_TOKENS: ReadonlySet<UsageExtraName> = new Set<UsageExtraName>([
  "audio_milliseconds",
  "search_units",
  "document_pages",
  "annotated_document_pages",
  "text_messages",
]);

/**
 * Prices what a request used. The cost that the provider states is taken as it is; else it is computed from the row
 * that applies, each token in exactly one line and the lines summing to the cost.
 *
 * Decisions, where the contract is silent:
 * - A prompt or completion count that nobody stated makes a request unpriced (the lines show what is known): a floor
 *   passed off as a cost is the error that nobody notices. A completion is not missed in an embedding, nor either of
 *   them where time, pages or messages are billed. Counts that were seen before a stream was cut are counts: they are
 *   priced, and the record's `tokensComplete` says that the provider may bill more.
 * - Cache counts that nobody stated are none: a provider that does not speak of a cache bills none.
 * - With no rate for cache reads or writes, those tokens are input at the input rate; a one-hour write costs what a
 *   write costs, twice the input for Claude models. With no rate for a modality, its tokens cost what text does.
 * - A count that is no whole number from zero up is nonsense, and makes the request unpriced.
 * - A count that is billed by itself (a search, a page) with no rate makes the request unpriced.
 */
export function priceUsage(usage: UsageToPrice, book: PriceBook): PricedUsage {
  const row = book.find(usage);
  const computed =
    row === null ? withoutRow(usage) : computeLines(usage, row, besideTokens(usage, row, book));
  const stated = usage.providerCostPicoUsd;
  if (stated !== null && stated >= 0n && stated <= MAX_COST_PICO_USD) {
    return { ...computed, costPicoUsd: stated, costSource: "provider", ratesSource: null };
  }
  return computed;
}

/**
 * The row that speaks of what is billed beside the four rates. Pulled and operators' rows cannot, so for them that is
 * the bundled row: a price of one's own for tokens does not change what a search costs.
 */
function besideTokens(usage: UsageToPrice, row: RateRow, book: PriceBook): Rates {
  return row.source === "bundled" ? row.rates : (book.findBundled(usage)?.rates ?? row.rates);
}

function withoutRow(usage: UsageToPrice): PricedUsage {
  return unpriced(null, null, [], [], `no rate for ${usage.provider} ${usage.model} on that date`);
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

function computeLines(usage: UsageToPrice, row: RateRow, beside: Rates): PricedUsage {
  const { tokens, extras } = usage;
  const { rates } = row;
  const prompt = tokens.promptTokens ?? 0;
  const cacheRead = tokens.cacheReadTokens ?? 0;
  const cacheWrite = tokens.cacheWriteTokens ?? 0;
  const cacheWrite1h = Math.min(tokens.cacheWrite1hTokens ?? 0, cacheWrite);
  const completion = tokens.completionTokens ?? 0;
  const thinking = tokens.thinkingTokens ?? 0;

  const split = splitByCalls(extras, tierFor(rates.tiers, prompt + cacheRead + cacheWrite));
  const { tier } = split;
  const priceList = priceListOf(usage.provider);
  const modelNames = [
    row.model.toLowerCase(),
    withoutSnapshot(withoutResourcePath(normaliseModelName(usage.model))),
  ];
  const { factors, unknown } = findFactors(
    priceList,
    modelNames,
    usage.serviceTier,
    extras,
    tier !== null,
    usage.at,
  );

  const readFactors = factors.some(keepsCacheReads)
    ? factors.filter((item) => !keepsCacheReads(item))
    : factors;

  const lines: CostLine[] = [];
  let total = 0n;
  let reason = unknown ?? split.unknown;
  /** Adds a line; a quantity without a rate is a reason to price nothing. */
  const add = (label: string, quantity: number, listRate: number | null, by = factors, perUnit = 1): void => {
    if (quantity === 0) return;
    if (!(quantity > 0 && Number.isSafeInteger(quantity))) {
      reason ??= `impossible count of ${label}: ${quantity}`;
      return;
    }
    if (listRate === null) {
      reason ??= `no rate for ${label} of ${row.provider} ${row.model}`;
      return;
    }
    const rate = by.length === 0 ? listRate : applyFactors(listRate, by);
    const costPicoUsd = multiply(quantity, rate, perUnit);
    total += costPicoUsd;
    lines.push({ label, quantity, rate, listRate, perUnit, costPicoUsd });
  };

  const rest = { promptTokens: prompt, cacheReadTokens: cacheRead, completionTokens: completion };
  let isBilledByOtherThanTokens = false;
  const fees: [label: string, quantity: number, rate: number | null, perUnit: number][] = [];
  if (extras !== null) {
    for (const [name, extra] of BILLED_EXTRAS) {
      const quantity = extras[name] ?? 0;
      if (quantity === 0) continue;
      const rate = beside.extras[name] ?? findFee(priceList, modelNames, name);
      if (extra.partOf === null || extra.partOf === "flag") {
        fees.push([extra.label, quantity, rate, extra.perUnit]);
        isBilledByOtherThanTokens ||= BILLED_INSTEAD_OF_TOKENS.has(name);
      } else if (rate !== null) {
        // More of a part than there is of the whole would bill tokens twice: the whole decides.
        const counted = Math.min(quantity, rest[extra.partOf]);
        rest[extra.partOf] -= counted;
        add(extra.label, counted, rate, extra.partOf === "cacheReadTokens" ? readFactors : factors);
      }
    }
  }

  const tokensLeft = {
    ...rest,
    cacheWriteTokens: cacheWrite,
    cacheWrite1hTokens: cacheWrite1h,
    thinkingTokens: thinking,
  };
  for (const { tokens: some, tier: at, suffix } of split.portionsOf(tokensLeft)) {
    const input = rateOf("input", row, at);
    const output = rateOf("output", row, at);
    const write = rateOf("cacheWrite", row, at) ?? input;
    const written = some.cacheWriteTokens;
    const written1h = Math.min(some.cacheWrite1hTokens, written);
    const cacheReadRate = rateOf("cacheRead", row, at) ?? input;
    const write1h = rateOf("cacheWrite1h", row, at) ?? oneHourWrite(row, input) ?? write;
    add(`input${suffix}`, some.promptTokens, input);
    add(`cache read${suffix}`, some.cacheReadTokens, cacheReadRate, readFactors);
    add(`cache write${suffix}`, written - written1h, write);
    add(`cache write 1h${suffix}`, written1h, write1h);
    add(`output${suffix}`, some.completionTokens, output);
    add(`thinking${suffix}`, some.thinkingTokens, beside.thinking ?? output);
  }
  for (const [label, quantity, rate, perUnit] of fees) add(label, quantity, rate, [], perUnit);
  if (beside.perRequest !== null) add("request", 1, beside.perRequest, []);

  if (!isBilledByOtherThanTokens) reason = missingCount(usage) ?? reason;
  if (total > MAX_COST_PICO_USD) reason ??= "a cost beyond what one call can have";
  if (reason !== null) return unpriced(row, tier, factors, lines, reason);
  return {
    costPicoUsd: total,
    costSource: ESTIMATE_EXTRAS.some((name) => (extras?.[name] ?? 0) > 0) ? "estimated" : "computed",
    ratesSource: row.source,
    row,
    tier,
    factors,
    lines,
    computedPicoUsd: total,
    unpricedReason: null,
  };
}

function missingCount({ tokens, requestKind }: UsageToPrice): string | null {
  if (tokens.promptTokens === null) return "the provider stated no input count";
  if (tokens.completionTokens === null && requestKind !== "embedding") {
    return "the provider stated no output count";
  }
  return null;
}

function keepsCacheReads(item: PriceFactor): boolean {
  return item.exceptCacheReads;
}

/** The tier that total input (fresh, read and written) has passed; it re-rates the whole request. */
function tierFor(tiers: readonly RateTier[], totalInput: number): RateTier | null {
  let found: RateTier | null = null;
  for (const tier of tiers) if (totalInput > tier.aboveTokens) found = tier;
  return found;
}

function rateOf(name: keyof TokenRates, row: RateRow, tier: RateTier | null): number | null {
  return tier?.[name] ?? row.rates[name];
}

function oneHourWrite(row: RateRow, input: number | null): number | null {
  const { models, numerator, denominator } = ONE_HOUR_WRITE_OF_INPUT;
  return input !== null && matchesRule(models, row.model.toLowerCase())
    ? (input * numerator) / denominator
    : null;
}

/** Quantity times rate in pico-USD: exact, but half to even where the rate is for more than one of the quantity. */
function multiply(quantity: number, rate: number, perUnit: number): bigint {
  const product = quantity * rate;
  const exact = product <= Number.MAX_SAFE_INTEGER ? BigInt(product) : BigInt(quantity) * BigInt(rate);
  return perUnit === 1 ? exact : divideHalfEven(exact, BigInt(perUnit));
}
