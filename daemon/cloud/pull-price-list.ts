import { createPriceBook } from "../../core/pricing/price-book.ts";
import { judgePriceList, type PriceListVerdict } from "../../core/pricing/sources/judge-price-list.ts";
import { mergePulledRows } from "../../core/pricing/sources/merge-pull.ts";
import { parsePriceList } from "../../core/pricing/sources/parse-price-list.ts";
import type { PriceFormat } from "../../core/pricing/sources/price-sources.ts";
import { meteredPriceLists } from "./metered-price-lists.ts";
import type { CloudServicePorts, CloudSettings } from "./ports.ts";
import { saveSourcePull } from "./pull-state.ts";

/** A price list that was read. */
interface ReadPriceList {
  /** The name of the source, stored with each row. */
  readonly name: string;
  readonly format: PriceFormat;
  readonly text: string;
}

/** What a price list changed, or would change. */
export type PriceListResult =
  | {
      readonly kind: "listed";
      readonly name: string;
      readonly verdict: PriceListVerdict;
      /** The number of rates of providers that are not metered. They are not stored. */
      readonly unmetered: number;
      /** Whether the accepted rates were stored. */
      readonly stored: boolean;
    }
  /** The text is no list in this format. */
  | { readonly kind: "unreadable"; readonly problem: string };

/**
 * Judges a public price list and stores what the guard accepts, unless `dryRun`. Rates of other sources and of other days
 * stay. Nothing is stored if the whole list is rejected.
 */
export function applyPriceList(
  { store, clock, bundledRates, ratesChanged, log }: CloudServicePorts,
  settings: Pick<CloudSettings, "providers">,
  { name, format, text }: ReadPriceList,
  { dryRun }: { readonly dryRun: boolean },
): PriceListResult {
  const parsed = parsePriceList(text, format);
  if (!parsed.ok) return { kind: "unreadable", problem: parsed.problem };
  const now = clock.now();
  const today = new Date(now).toISOString().slice(0, 10);
  const metered = meteredPriceLists(settings);
  const rates = parsed.rates.filter(({ provider }) => metered.has(provider));
  const problems = parsed.problems.filter(({ provider }) => metered.has(provider));
  const pulled = store.rates.read().filter(({ source }) => source === "auto");
  const book = createPriceBook([...bundledRates(), ...pulled]);
  const verdict = judgePriceList({ name, rates, problems, today, now }, book);
  const stored = !dryRun && verdict.rejected === null;
  if (stored) {
    store.rates.replace("auto", mergePulledRows(pulled, verdict.rows, book, today, now), now);
    saveSourcePull(store.notes, name, now);
    ratesChanged();
    log.info("pricing.pulled", { rates: verdict.rows.length, from: name });
  }
  return { kind: "listed", name, verdict, unmetered: parsed.rates.length - rates.length, stored };
}
