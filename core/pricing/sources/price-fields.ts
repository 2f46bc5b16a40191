import type { JsonObject } from "../../values/json-object.ts";
import type { PublishedTokenRates } from "../../wire/pricing-rates.ts";
import { divideHalfEven, parseDecimal } from "../decimal.ts";
import { formatRateText } from "../money.ts";
import type { RateProblem } from "../published-rates.ts";

/** Maximum number of problems that a list reports. */
const MAX_PROBLEMS = 1_000;

/** Maximum number of models in a list. The largest list in use has 5,000. */
export const MAX_MODELS = 50_000;

/** Decimal places between a price per unit in USD and micro-USD per million units. */
const PER_UNIT = 12;
/** The same for a price per thousand units. */
const PER_THOUSAND = 9;
/** The same for a price per million units. */
const PER_MILLION = 6;

/** How many units a published price is for, as the decimal places that convert it to micro-USD per million units. */
const PRICE_UNITS = { one: PER_UNIT, thousand: PER_THOUSAND, million: PER_MILLION } as const;

/** The unit of a published price. */
export type PriceUnit = keyof typeof PRICE_UNITS;

/** Reads the prices of one model, and reports those that are not amounts. */
export interface PriceReader {
  /**
   * Returns a price in USD per million units as decimal text; `undefined` if the field is missing or not an amount.
   * `factor` multiplies it: 3600 converts a price per second to one per hour.
   */
  price(entry: JsonObject, field: string, unit: PriceUnit, factor?: number): string | undefined;
}

/** Creates a reader that adds a problem to `problems` for each field that is no amount. */
export function createPriceReader(provider: string, model: string, problems: RateProblem[]): PriceReader {
  return {
    price(entry, field, unit, factor = 1) {
      const value = Object.hasOwn(entry, field) ? entry[field] : undefined;
      if (value === undefined || value === null) return;
      const amount = typeof value === "string" ? parseDecimal(value, PRICE_UNITS[unit] + 6) : null;
      if (amount === null || amount < 0n) {
        addProblem(problems, { provider, model, field, problem: "is not an amount from zero up" });
        return;
      }
      const microUsd = divideHalfEven(amount * BigInt(factor), 1_000_000n);
      if (microUsd > BigInt(Number.MAX_SAFE_INTEGER)) {
        addProblem(problems, { provider, model, field, problem: "is too large" });
        return;
      }
      return formatRateText(Number(microUsd));
    },
  };
}

/** Adds a problem, up to a maximum number. */
export function addProblem(problems: RateProblem[], problem: RateProblem): void {
  if (problems.length < MAX_PROBLEMS) problems.push(problem);
}

/** The published token rates of these fields; a missing cache rate stays absent, so that a pull keeps the known one. */
export function tokenRates(
  reader: PriceReader,
  entry: JsonObject,
  unit: PriceUnit,
  fields: Readonly<Record<keyof PublishedTokenRates, string>>,
): PublishedTokenRates {
  const read = (name: keyof PublishedTokenRates) => reader.price(entry, fields[name], unit);
  const oneHour = read("cache_write_1h");
  return {
    input: read("input") ?? null,
    output: read("output") ?? null,
    cache_read: read("cache_read") ?? null,
    cache_write: read("cache_write") ?? null,
    ...(oneHour !== undefined && { cache_write_1h: oneHour }),
  };
}

/** Returns the tiers in ascending order, each with the rates of the tier below where it states none. */
export function fillTiers<Tier extends PublishedTokenRates & { above_tokens: number }>(
  tiers: readonly Tier[],
): Tier[] {
  const sorted = [...tiers].sort((one, other) => one.above_tokens - other.above_tokens);
  let below: Partial<Tier> = {};
  return sorted.map((tier) => {
    const stated = Object.fromEntries(Object.entries(tier).filter(([, value]) => value !== null));
    const filled = { ...tier, ...below, ...stated } as Tier;
    const { above_tokens: _, ...rates } = filled;
    below = rates as Partial<Tier>;
    return filled;
  });
}

/** Removes the fields that are undefined, and returns undefined if none is left. */
export function definedFields(
  fields: Readonly<Record<string, string | undefined>>,
): Record<string, string> | undefined {
  const defined = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return defined.length === 0 ? undefined : Object.fromEntries(defined);
}
