import type { PriceBook } from "../core/pricing/mod.ts";
import type { Millis } from "../core/time.ts";
import { explainRequest } from "../daemon/explain-request.ts";
import type { CostUpdate, Store } from "../daemon/store/mod.ts";
import type { ReportPeriod } from "./period.ts";

/** What pricing again changed, or would change. */
export interface Recomputed {
  requests: number;
  /** Those that cost something else. */
  changed: number;
  /** Those that cost the same, by rates of another source. */
  same_cost: number;
  cost_before_pico_usd: bigint;
  cost_after_pico_usd: bigint;
  /** By model, the largest change first. */
  models: {
    provider: string;
    model: string;
    requests: number;
    before_pico_usd: bigint;
    after_pico_usd: bigint;
  }[];
}

export interface RecomputeOptions {
  period: ReportPeriod;
  dryRun: boolean;
  now(): Millis;
  progress(done: number, total: number): void;
}

/** Requests in one transaction: small enough that the daemon's writes hardly wait. */
const BATCH = 500;

const magnitude = (value: bigint) => (value < 0n ? -value : value);

/** Prices the stored requests of a period again and writes what differs, batch by batch: it may be broken off anywhere. */
export async function recomputeCosts(
  store: Pick<Store, "readRequests" | "countRequests" | "updateCosts">,
  book: PriceBook,
  { period, dryRun, now, progress }: RecomputeOptions,
): Promise<Recomputed> {
  const total = store.countRequests(period);
  const models = new Map<string, Recomputed["models"][number]>();
  const result: Recomputed = {
    requests: 0,
    changed: 0,
    same_cost: 0,
    cost_before_pico_usd: 0n,
    cost_after_pico_usd: 0n,
    models: [],
  };
  for (let afterSeq = 0; ; ) {
    const batch = store.readRequests({ ...period, afterSeq, limit: BATCH });
    const last = batch.at(-1);
    if (last === undefined) break;
    afterSeq = last.seq;
    const updates: CostUpdate[] = [];
    for (const request of batch) {
      const { priced } = explainRequest(request, book);
      const [before, after] = [request.costPicoUsd ?? 0n, priced.costPicoUsd ?? 0n];
      result.requests += 1;
      result.cost_before_pico_usd += before;
      result.cost_after_pico_usd += after;
      const sameCost = priced.costPicoUsd === request.costPicoUsd;
      if (sameCost && priced.costSource === request.costSource && priced.ratesSource === request.ratesSource)
        continue;
      const { requestId, provider, model } = request;
      const { costPicoUsd, costSource, ratesSource } = priced;
      updates.push({ requestId, costPicoUsd, costSource, ratesSource });
      if (sameCost) {
        result.same_cost += 1;
        continue;
      }
      result.changed += 1;
      const key = `${provider} ${model}`;
      const known = models.get(key) ?? {
        provider,
        model,
        requests: 0,
        before_pico_usd: 0n,
        after_pico_usd: 0n,
      };
      known.requests += 1;
      known.before_pico_usd += before;
      known.after_pico_usd += after;
      models.set(key, known);
    }
    if (!dryRun && updates.length > 0) store.updateCosts(updates, now());
    progress(result.requests, total);
    // A turn for whoever else waits: signals, the terminal.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const change = (each: Recomputed["models"][number]) =>
    magnitude(each.after_pico_usd - each.before_pico_usd);
  result.models = [...models.values()].sort((one, other) => (change(one) < change(other) ? 1 : -1));
  return result;
}
