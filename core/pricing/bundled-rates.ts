import type { CalendarDate } from "../values/time.ts";
import { BUNDLED_RATES_DATE, BUNDLED_RATES_TEXT } from "./bundled-rates.data.ts";
import type { MatchRule } from "./model-match.ts";
import { priceListOf } from "./provider-names.ts";
import type { RateRow, RateTier } from "./rates.ts";
import { STATED_RATES } from "./stated-rates.data.ts";
import { SUPPLEMENT_RATES } from "./supplement-rates.data.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/** Input, output, cache read, cache write, one-hour cache write. Missing items at the end are `null`. */
type TokenRatesText = readonly (number | null)[];

type PriceExtras = Readonly<Partial<Record<UsageExtraName, number>>>;

type TierText = readonly [
  above: number,
  input: number | null,
  output: number | null,
  ...rest: TokenRatesText,
];

/** Start, daily period, base rates, tiers, extras, thinking, per request. Missing items at the end, or 0, mean none. */
type PriceText = readonly [
  from: string | 0,
  /** From and to in seconds, and 1 if only on weekdays. */
  daily: readonly [from: number, to: number, weekdaysOnly?: 1] | 0,
  base: TokenRatesText,
  tiers?: readonly TierText[] | 0,
  extras?: PriceExtras | 0,
  thinking?: number,
  perRequest?: number,
];

const NO_TIERS: readonly RateTier[] = [];
const NO_EXTRAS: PriceExtras = {};

/** A model: its name, its rule (0 for its own name), and its prices, oldest first. */
export type ModelText = readonly [model: string, rule: MatchRule | 0, ...prices: PriceText[]];

type Lists = Readonly<Record<string, readonly ModelText[]>>;

/**
 * Loads the bundled rates, in the order that a price book requires: those that we state ourselves, those of the source, and
 * the supplements. All have one date, because the cloud takes the rows of the newest date as the set. Takes about
 * 20 ms, so call it once. `lists` are the names of the price lists to load; without it, all are.
 */
export function loadBundledRates(lists?: ReadonlySet<string>): RateRow[] {
  const rows = readRates(STATED_RATES, BUNDLED_RATES_DATE, lists);
  const stated = new Set(rows.map(({ provider, model }) => `${provider} ${model}`));
  for (const row of loadSourceRates(lists)) if (!stated.has(`${row.provider} ${row.model}`)) rows.push(row);
  for (const { source, date, text } of SUPPLEMENT_RATES) {
    const origin = { name: source, retrievedOn: date };
    for (const row of readRates(JSON.parse(text) as Lists, BUNDLED_RATES_DATE, lists))
      rows.push({ ...row, origin });
  }
  return rows;
}

/** Loads the rates of the bundled source alone. */
export function loadSourceRates(lists?: ReadonlySet<string>): RateRow[] {
  return readRates(JSON.parse(BUNDLED_RATES_TEXT) as Lists, BUNDLED_RATES_DATE, lists);
}

function readRates(all: Lists, date: CalendarDate, wanted?: ReadonlySet<string>): RateRow[] {
  const rows: RateRow[] = [];
  for (const [provider, models] of Object.entries(all)) {
    if (wanted?.has(priceListOf(provider)) === false) continue;
    // Indexes instead of destructuring: this runs once, unoptimised, and iterators would be slower.
    for (const entry of models) {
      const match = entry[1] || null;
      for (let index = 2; index < entry.length; index++) {
        rows.push(rateRow(provider, entry[0], match, entry[index] as PriceText, date));
      }
    }
  }
  return rows;
}

function rateRow(
  provider: string,
  model: string,
  match: MatchRule | null,
  price: PriceText,
  provenanceDate: CalendarDate,
): RateRow {
  const daily = price[1];
  const base = price[2];
  const tiers = price[3];
  return {
    provider,
    model,
    source: "bundled",
    match,
    effectiveFrom: price[0] || null,
    effectiveTo: null,
    daily: daily
      ? { fromSecond: daily[0], toSecond: daily[1], ...(daily[2] === 1 && { weekdaysOnly: true as const }) }
      : null,
    provenanceDate,
    rates: {
      input: base[0] ?? null,
      output: base[1] ?? null,
      cacheRead: base[2] ?? null,
      cacheWrite: base[3] ?? null,
      cacheWrite1h: base[4] ?? null,
      tiers: tiers ? tiers.map(rateTier) : NO_TIERS,
      extras: price[4] || NO_EXTRAS,
      thinking: price[5] || null,
      perRequest: price[6] || null,
    },
  };
}

function rateTier([aboveTokens, input, output, cacheRead, cacheWrite, cacheWrite1h]: TierText): RateTier {
  return {
    aboveTokens,
    input,
    output,
    cacheRead: cacheRead ?? null,
    cacheWrite: cacheWrite ?? null,
    cacheWrite1h: cacheWrite1h ?? null,
  };
}
