import type { Millis } from "../values/time.ts";
import { divideHalfEven } from "./decimal.ts";
import { EXTRA_FEES, PRICE_FACTORS, type PriceFactor, UNPRICED_ABOVE } from "./factors.data.ts";
import { matchesRule } from "./model-match.ts";
import { USAGE_EXTRAS, type UsageExtraName } from "./usage-extras.ts";

/** Names of the tier with the list price, without the prefixes that `normaliseServiceTier` removes. */
const STANDARD_TIERS: ReadonlySet<string> = new Set([
  "",
  "auto",
  "default",
  "on_demand",
  "standard",
  "standard_only",
  "unspecified",
]);

/** Synonyms of a tier. OpenAI responds with `priority` to `fast` and charges the same for both. */
const SAME_TIER: Readonly<Record<string, string>> = { fast: "priority" };

const FLAGS = Object.keys(USAGE_EXTRAS).filter(
  (name) => USAGE_EXTRAS[name as UsageExtraName].partOf === "flag",
) as UsageExtraName[];

/**
 * Normalises a service tier. Returns `null` for the tier with the list price. Google writes `SERVICE_TIER_FLEX` and, on
 * Vertex, `ON_DEMAND_FLEX` for what others call `flex`.
 */
export function normaliseServiceTier(serviceTier: string | null): string | null {
  if (serviceTier === null) return null;
  const word = serviceTier
    .trim()
    .toLowerCase()
    .replace(/^service_tier_|^on_demand_/, "");
  if (STANDARD_TIERS.has(word)) return null;
  return Object.hasOwn(SAME_TIER, word) ? SAME_TIER[word]! : word;
}

/** The factors of a request, and a description of the first condition whose factor is unknown. */
interface FoundFactors {
  factors: readonly PriceFactor[];
  unknown: string | null;
}

const NONE: FoundFactors = { factors: [], unknown: null };

/** Finds the factors that multiply a request's token rates. The model may match by any of its names. */
export function findFactors(
  provider: string,
  modelNames: readonly string[],
  serviceTier: string | null,
  extras: Readonly<Record<string, number>> | null,
  inContextTier: boolean,
  at: Millis,
): FoundFactors {
  const tier = normaliseServiceTier(serviceTier);
  const flags = extras === null ? [] : FLAGS.filter((name) => (extras[name] ?? 0) > 0);
  if (tier === null && flags.length === 0) return NONE;

  const factors: PriceFactor[] = [];
  let unknown: string | null = null;
  const add = (label: string, isWanted: (when: PriceFactor["when"]) => boolean): void => {
    const found = PRICE_FACTORS.find(
      (item) =>
        item.provider === provider &&
        isWanted(item.when) &&
        !(item.baseTierOnly && inContextTier) &&
        (item.since === null || at >= Date.parse(`${item.since}T00:00:00Z`)) &&
        (item.models === null || modelNames.some((name) => matchesRule(item.models!, name))),
    );
    if (found !== undefined) factors.push(found);
    else unknown ??= `no published price for ${label}${inContextTier ? " in a long context" : ""}`;
  };
  if (tier !== null)
    add(`service tier "${tier}"`, (when) => "serviceTier" in when && when.serviceTier === tier);
  for (const flag of flags) {
    add(USAGE_EXTRAS[flag].label, (when) => "extra" in when && when.extra === flag);
  }
  return { factors, unknown };
}

/**
 * Returns the fee of an extra that has no rate in the price list, in micro-USD per million; `null` if there is none.
 */
export function findFee(
  provider: string,
  modelNames: readonly string[],
  extra: UsageExtraName,
): number | null {
  const found = EXTRA_FEES.find(
    (fee) =>
      fee.provider === provider &&
      fee.extra === extra &&
      modelNames.some((name) => matchesRule(fee.models, name)),
  );
  return found?.rate ?? null;
}

/** Returns the total input above which the model has no published price; `null` if there is no such limit. */
export function findPriceLimit(provider: string, modelNames: readonly string[]): number | null {
  const found = UNPRICED_ABOVE.find(
    (limit) => limit.provider === provider && modelNames.some((name) => matchesRule(limit.models, name)),
  );
  return found?.aboveTokens ?? null;
}

/** Multiplies a rate by the factors. The result is an integer in micro-USD, rounded half to even. */
export function applyFactors(rate: number, factors: readonly PriceFactor[]): number {
  let numerator = 1n;
  let denominator = 1n;
  for (const item of factors) {
    numerator *= BigInt(item.numerator);
    denominator *= BigInt(item.denominator);
  }
  return Number(divideHalfEven(BigInt(rate) * numerator, denominator));
}
