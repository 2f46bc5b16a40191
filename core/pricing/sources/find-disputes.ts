import type { Millis } from "../../values/time.ts";
import { normaliseModelName } from "../model-match.ts";
import { createPriceBook, type PriceBook } from "../price-book.ts";
import { priceListOf } from "../provider-names.ts";
import type { RateRow, TokenRates } from "../rates.ts";
import { indexKnownDifferences } from "./known-differences.ts";

/** A rate on which sources disagree, in micro-USD per million tokens. */
export interface Dispute {
  readonly provider: string;
  readonly model: string;
  readonly field: keyof TokenRates;
  /** The rate of each source that states one. */
  readonly rates: readonly { readonly source: string; readonly rate: number }[];
  /** Why sources differ from the bundled rate, as far as that is known. */
  readonly reasons: readonly {
    readonly source: string;
    readonly reason: string;
    readonly page: string | null;
  }[];
}

/** Differences up to this share are no dispute: sources round. */
export const DISPUTE_TOLERANCE = 0.02;

const FIELDS = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h"] as const;

/**
 * Compares the rates of all sources that apply at a time, and lists those that differ by more than the tolerance. Models are
 * compared under the names that the pulled lists use. An operator's rates are no source.
 */
export function findDisputes(rows: readonly RateRow[], at: Millis, tolerance = DISPUTE_TOLERANCE): Dispute[] {
  const books = booksBySource(rows);
  const differenceOf = indexKnownDifferences();
  const found: Dispute[] = [];
  const seen = new Set<string>();
  for (const { provider, model, source } of rows) {
    const key = JSON.stringify([priceListOf(provider), normaliseModelName(model)]);
    if (source !== "auto" || seen.has(key)) continue;
    seen.add(key);
    const priced = [...books].flatMap(([name, book]) => {
      const row = book.findPublished({ provider, model, requestedModel: null, at });
      return row === null ? [] : [{ name, row }];
    });
    for (const field of FIELDS) {
      const rates = priced.flatMap(({ name, row }) => {
        const rate = row.rates[field];
        return rate === null ? [] : [{ source: name, rate }];
      });
      if (!isDisputed(rates, tolerance)) continue;
      const reasons = rates.flatMap((each) => {
        const known = differenceOf(each.source, provider, model, field, each.rate);
        return known === null ? [] : [{ source: each.source, reason: known.reason, page: known.page }];
      });
      found.push({ provider, model, field, rates, reasons });
    }
  }
  return found;
}

/** Creates a price book for each source of the rows: the bundled rates, and each list that was pulled. */
function booksBySource(rows: readonly RateRow[]): Map<string, PriceBook> {
  const bySource = new Map<string, RateRow[]>();
  for (const row of rows) {
    if (row.source === "operator") continue;
    const name = row.source === "bundled" ? "bundled" : (row.origin?.name ?? "cloud");
    const known = bySource.get(name);
    if (known === undefined) bySource.set(name, [row]);
    else known.push(row);
  }
  return new Map([...bySource].map(([name, each]) => [name, createPriceBook(each)]));
}

function isDisputed(rates: Dispute["rates"], tolerance: number): boolean {
  const amounts = rates.map(({ rate }) => rate);
  return Math.max(...amounts) > Math.min(...amounts) * (1 + tolerance);
}
