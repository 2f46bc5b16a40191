import type { CalendarDate } from "../values/time.ts";
import { BUNDLED_RATES_DATE, BUNDLED_RATES_TEXT } from "./bundled-rates.data.ts";
import type { MatchRule } from "./model-match.ts";
import type { ModelText, PriceExtras, PriceText, TierText } from "./model-text.ts";
import { priceListOf } from "./provider-names.ts";
import type { RateRow, RateTier } from "./rates.ts";
import { STATED_RATES } from "./stated-rates.data.ts";
import { SUPPLEMENT_RATES } from "./supplement-rates.data.ts";

const NO_TIERS: readonly RateTier[] = [];
const NO_EXTRAS: PriceExtras = {};

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
