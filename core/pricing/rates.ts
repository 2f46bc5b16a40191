import type { RateSource } from "../record.ts";
import type { CalendarDate } from "../time.ts";
import type { MatchRule } from "./model-match.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/**
 * What a million tokens cost, in integer micro-USD, so that one token at rate `r` costs exactly `r` pico-USD.
 * `null` = the provider lists no such rate; `priceUsage` says what applies then.
 */
export interface TokenRates {
  input: number | null;
  output: number | null;
  cacheRead: number | null;
  /** The shorter (or only) time to live. */
  cacheWrite: number | null;
  /** The one-hour time to live. */
  cacheWrite1h: number | null;
}

/** The rates of a whole request whose total input (fresh, read and written) is above so many tokens. */
export interface RateTier extends TokenRates {
  aboveTokens: number;
}

/** The rates of a model: the base, context tiers in ascending order, and what is billed beside the five counts. */
export interface Rates extends TokenRates {
  tiers: readonly RateTier[];
  /** Micro-USD for a million of each (of the units that `USAGE_EXTRAS` says). */
  extras: Readonly<Partial<Record<UsageExtraName, number>>>;
  /** A rate for thinking where it is not the output rate. */
  thinking: number | null;
  /** A fee that each answered request costs, in micro-USD for a million of them. */
  perRequest: number | null;
}

/** A time of day in UTC, in seconds since midnight, `[fromSecond, toSecond)`; it wraps when `to` is before `from`. */
export interface DailyWindow {
  fromSecond: number;
  toSecond: number;
}

/** One dated price of one model from one source. Source: contract, "Pricing rates"; decisions, "Tokens and money". */
export interface RateRow {
  provider: string;
  model: string;
  source: RateSource;
  /** Which names mean this model; `null` for its own name alone. */
  match: MatchRule | null;
  /** First day (UTC) of the price; `null` for as long as anyone remembers. */
  effectiveFrom: CalendarDate | null;
  /** First day (UTC) on which it no longer applies; `null` for no end. */
  effectiveTo: CalendarDate | null;
  /** The hours in which it applies; `null` for all of them. */
  daily: DailyWindow | null;
  /** When the source vouched for the price; decides between sources. */
  provenanceDate: CalendarDate;
  rates: Rates;
}

/** Rates with nothing in them, to spread the known ones over. */
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
