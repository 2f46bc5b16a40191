import { BUNDLED_RATES_DATE, BUNDLED_RATES_TEXT } from "./bundled-rates.data.ts";
import type { MatchRule } from "./model-match.ts";
import type { RateRow, TokenRates } from "./rates.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/** Input, output, cache read, cache write, one-hour cache write; what is missing at the end is `null`. */
type TokenRatesText = readonly (number | null)[];

/** From, hours, base rates, tiers, extras, thinking, per request; what is missing at the end, or 0, is none. */
type PriceText = readonly [
  from: string | 0,
  daily: readonly [number, number] | 0,
  base: TokenRatesText,
  tiers?: readonly (readonly [above: number, ...rates: TokenRatesText])[] | 0,
  extras?: Readonly<Partial<Record<UsageExtraName, number>>> | 0,
  thinking?: number,
  perRequest?: number,
];

type ModelText = readonly [model: string, rule: MatchRule | 0, ...prices: PriceText[]];

/**
 * Reads the rates that come with the package, in the order in which a price book wants them. Costs a few milliseconds:
 * call it once.
 */
export function loadBundledRates(): RateRow[] {
  const lists = JSON.parse(BUNDLED_RATES_TEXT) as Record<string, readonly ModelText[]>;
  const rows: RateRow[] = [];
  for (const [provider, models] of Object.entries(lists)) {
    for (const [model, rule, ...prices] of models) {
      for (const price of prices) rows.push(rateRow(provider, model, rule === 0 ? null : rule, price));
    }
  }
  return rows;
}

function rateRow(provider: string, model: string, match: MatchRule | null, price: PriceText): RateRow {
  const [from, daily, base, tiers = 0, extras = 0, thinking = 0, perRequest = 0] = price;
  return {
    provider,
    model,
    source: "bundled",
    match,
    effectiveFrom: from === 0 ? null : from,
    effectiveTo: null,
    daily: daily === 0 ? null : { fromSecond: daily[0], toSecond: daily[1] },
    provenanceDate: BUNDLED_RATES_DATE,
    rates: {
      ...tokenRates(base),
      tiers:
        tiers === 0 ? [] : tiers.map(([above, ...rates]) => ({ aboveTokens: above, ...tokenRates(rates) })),
      extras: extras === 0 ? {} : extras,
      thinking: thinking === 0 ? null : thinking,
      perRequest: perRequest === 0 ? null : perRequest,
    },
  };
}

function tokenRates([input, output, cacheRead, cacheWrite, cacheWrite1h]: TokenRatesText): TokenRates {
  return {
    input: input ?? null,
    output: output ?? null,
    cacheRead: cacheRead ?? null,
    cacheWrite: cacheWrite ?? null,
    cacheWrite1h: cacheWrite1h ?? null,
  };
}
