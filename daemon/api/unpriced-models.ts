import { explainRequest } from "../../core/pricing/explain-request.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import { fixOfUnpriced, type LastPulls, type PriceFix } from "../../core/pricing/price-fix.ts";
import type { Millis } from "../../core/values/time.ts";
import { readSourcePulledAt } from "../cloud/pull-state.ts";
import type { ReportQuery, UnpricedModel } from "../store/port/reports.ts";
import type { Store } from "../store/port/store.ts";

/** A model with requests that have no known price. */
export interface UnpricedModelStatus {
  readonly provider: string;
  readonly model: string;
  readonly requests: number;
  readonly last_request_id: string;
  /**
   * How to give the latest of them a price. Null if the model has a rate, but not for everything that the request used,
   * and no list can add it.
   */
  readonly fix: PriceFix | null;
}

/** Returns when each public price list was last pulled. */
export const lastPulls =
  ({ store }: { readonly store: Pick<Store, "notes"> }): LastPulls =>
  (source) =>
    readSourcePulledAt(store.notes, source);

/** A model of unpriced requests in a period. */
export interface UnpricedModelFix extends UnpricedModel {
  /** As that of `UnpricedModelStatus`. */
  readonly fix: PriceFix | null;
}

interface PriceFixPorts {
  readonly store: Pick<Store, "reports" | "records" | "notes">;
  /** Called only if there are unpriced requests, with the providers of their models. */
  prices(providers: readonly string[]): PriceBook | Promise<PriceBook>;
}

/** Reads the models of a report's unpriced requests, most requests first, at most `limit`, with the fix of each. */
export async function findPriceFixes(
  ports: PriceFixPorts,
  query: Omit<ReportQuery, "by" | "days">,
  now: Millis,
  limit: number,
): Promise<UnpricedModelFix[]> {
  const models = await ports.store.reports.readUnpricedModels(query, limit);
  if (models.length === 0) return [];
  const book = await ports.prices(models.map(({ provider }) => provider));
  const found: UnpricedModelFix[] = [];
  for (const each of models) {
    const latest = await ports.store.records.get(each.lastRequestId);
    const fix = latest === null ? null : fixOfUnpriced(explainRequest(latest, book), lastPulls(ports), now);
    found.push({ ...each, fix });
  }
  return found;
}

/** Reads the models of unpriced requests since a time, as `findPriceFixes()` does, in the form of the API. */
export async function readUnpricedModels(
  ports: PriceFixPorts,
  since: Millis,
  now: Millis,
  limit: number,
): Promise<UnpricedModelStatus[]> {
  const models = await findPriceFixes(ports, { from: since, to: null }, now, limit);
  return models.map(({ lastRequestId, fix, ...each }) => ({ ...each, last_request_id: lastRequestId, fix }));
}
