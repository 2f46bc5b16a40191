import type { MatchRule } from "./model-match.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/** Input, output, cache read, cache write, one-hour cache write. Missing items at the end are `null`. */
type TokenRatesText = readonly (number | null)[];

/** Rates of what is billed in addition to text tokens. */
export type PriceExtras = Readonly<Partial<Record<UsageExtraName, number>>>;

/** A context tier: from how many tokens it applies, and its rates. */
export type TierText = readonly [
  above: number,
  input: number | null,
  output: number | null,
  ...rest: TokenRatesText,
];

/** Start, daily period, base rates, tiers, extras, thinking, per request. Missing items at the end, or 0, mean none. */
export type PriceText = readonly [
  from: string | 0,
  /** From and to in seconds, and 1 if only on weekdays. */
  daily: readonly [from: number, to: number, weekdaysOnly?: 1] | 0,
  base: TokenRatesText,
  tiers?: readonly TierText[] | 0,
  extras?: PriceExtras | 0,
  thinking?: number,
  perRequest?: number,
];

/** A model: its name, its rule (0 for its own name), and its prices, oldest first. */
export type ModelText = readonly [model: string, rule: MatchRule | 0, ...prices: PriceText[]];
