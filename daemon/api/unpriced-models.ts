import { findModelFix, type LastPulls, type PriceFix } from "../../core/pricing/price-fix.ts";
import type { Millis } from "../../core/values/time.ts";
import { readSourcePulledAt } from "../cloud/pull-state.ts";
import type { ApiPorts } from "./api-ports.ts";

/** A model of which requests have no known price. */
export interface UnpricedModelStatus {
  readonly provider: string;
  readonly model: string;
  readonly requests: number;
  readonly last_request_id: string;
  /** Null if the model has a rate, but not for all that the requests used, and no list can add it. */
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
  return models.map(({ lastRequestId, ...each }) => ({
    ...each,
    last_request_id: lastRequestId,
    fix: findModelFix(each, book, lastPulls(ports), now),
  }));
}
