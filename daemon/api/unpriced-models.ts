import { explainRequest } from "../../core/pricing/explain-request.ts";
import { fixOfUnpriced, type LastPulls, type PriceFix } from "../../core/pricing/price-fix.ts";
import type { Millis } from "../../core/values/time.ts";
import { readSourcePulledAt } from "../cloud/pull-state.ts";
import type { ApiPorts } from "./api-ports.ts";

/** A model of which requests have no known price. */
export interface UnpricedModelStatus {
  readonly provider: string;
  readonly model: string;
  readonly requests: number;
  readonly last_request_id: string;
  /**
   * How the latest of them gets a price. Null if the model has a rate, but not for all that the request used, and no list can add
   * it.
   */
  readonly fix: PriceFix | null;
}

/** Returns when each public price list was last pulled. */
export const lastPulls =
  ({ store }: Pick<ApiPorts, "store">): LastPulls =>
  (source) =>
    readSourcePulledAt(store.notes, source);

/** Reads the models of unpriced requests since a time, most requests first, at most `limit`, with the fix of each. */
export async function readUnpricedModels(
  ports: Pick<ApiPorts, "store" | "prices">,
  since: Millis,
  now: Millis,
  limit: number,
): Promise<UnpricedModelStatus[]> {
  const models = await ports.store.reports.readUnpricedModels({ from: since, to: null }, limit);
  // Only with unpriced requests are the rates needed.
  if (models.length === 0) return [];
  const book = ports.prices();
  const found: UnpricedModelStatus[] = [];
  for (const { lastRequestId, ...each } of models) {
    const latest = await ports.store.records.get(lastRequestId);
    const fix = latest === null ? null : fixOfUnpriced(explainRequest(latest, book), lastPulls(ports), now);
    found.push({ ...each, last_request_id: lastRequestId, fix });
  }
  return found;
}
