import type { RateSource } from "../values/record.ts";
import type { CalendarDate } from "../values/time.ts";
import type { MatchRule } from "./model-match.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/**
 * The prices of a million tokens, in integer micro-USD, so that one token at rate `r` costs exactly `r` pico-USD. `null`
 * means that the provider lists no such rate; see `priceUsage` for what applies then.
 */
export interface TokenRates {
  input: number | null;
  output: number | null;
  cacheRead: number | null;
  /** For the shorter, or only, time to live. */
  cacheWrite: number | null;
  /** For the one-hour time to live. */
  cacheWrite1h: number | null;
}

/** The rates of a request whose total input (fresh, read and written) exceeds a number of tokens. */
export interface RateTier extends TokenRates {
  aboveTokens: number;
}

/** The rates of a service tier, with its own context tiers. */
export interface ServiceTierRates extends TokenRates {
  tiers: readonly RateTier[];
}

/**
 * The rates of a model: the base rates, the context tiers in ascending order, and the rates of what is billed besides
 * tokens.
 */
export interface Rates extends TokenRates {
  tiers: readonly RateTier[];
  /** Micro-USD per million units. `USAGE_EXTRAS` defines the unit of each extra. */
  extras: Readonly<Partial<Record<UsageExtraName, number>>>;
  /** The rate of thinking, if it differs from the output rate. */
  thinking: number | null;
  /** A fee for each answered request, in micro-USD per million requests. */
  perRequest: number | null;
  /**
   * The rates of service tiers for which the source states prices, by the name that `normaliseServiceTier` returns. A
   * token without a rate here costs its standard rate times the factor in `factors.data.ts`.
   */
  serviceTiers?: Readonly<Record<string, ServiceTierRates>>;
}

/**
 * A daily period in UTC, in seconds since midnight: `[fromSecond, toSecond)`. It spans midnight if `toSecond` is less than
 * `fromSecond`.
 */
export interface DailyWindow {
  fromSecond: number;
  toSecond: number;
  /** Whether the period does not apply on Saturdays and Sundays (UTC). */
  weekdaysOnly?: true;
}

/** The price list from which a row was pulled or imported. */
export interface RateOrigin {
  /** The name of a source, such as `litellm`. */
  name: string;
  /** The last day (UTC) on which the list stated this price. */
  retrievedOn: CalendarDate;
}

/** The price of a model from one source for a period. Source: docs/specification.md#money-and-rates. */
export interface RateRow {
  provider: string;
  model: string;
  source: RateSource;
  /** The names that refer to this model; `null` for only its own name. */
  match: MatchRule | null;
  /** The first day (UTC) on which the price applies; `null` for no start. */
  effectiveFrom: CalendarDate | null;
  /** The first day (UTC) on which the price no longer applies; `null` for no end. */
  effectiveTo: CalendarDate | null;
  /** The daily period in which the price applies; `null` for the whole day. */
  daily: DailyWindow | null;
  /** The date on which the source stated the price. It decides between sources. */
  provenanceDate: CalendarDate;
  /** Where a row of the source `auto` comes from. Rows that older versions stored have none. */
  origin?: RateOrigin;
  rates: Rates;
}

/** Rates that are all unknown. Spread it and set the known ones. */
export const NO_RATES: Rates = {
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  cacheWrite1h: null,
  tiers: [],
  extras: {},
  thinking: null,
  perRequest: null,
};
