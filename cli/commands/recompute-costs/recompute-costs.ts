import { explainRequest, keepsAgentFigure } from "../../../core/pricing/explain-request.ts";
import type { PriceBook } from "../../../core/pricing/price-book.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { CostUpdate, RecordStore, StoredRequest } from "../../../daemon/store/port/records.ts";
import type { ReportPeriod } from "../../program/period.ts";

/** What recomputing the costs changed, or would change. */
export interface Recomputed {
  requests: number;
  /** The number of requests with a different cost. */
  changed: number;
  /** The number of requests with the same cost at rates from another source. */
  same_cost: number;
  cost_before_pico_usd: bigint;
  cost_after_pico_usd: bigint;
  /** The changes by model, the largest first. */
  models: ModelChange[];
}

/** The change of the cost of one model's requests. */
interface ModelChange {
  provider: string;
  model: string;
  requests: number;
  before_pico_usd: bigint;
  after_pico_usd: bigint;
}

export interface RecomputeOptions {
  period: ReportPeriod;
  dryRun: boolean;
  now(): Millis;
  progress(done: number, total: number): void;
}

/** Requests in one transaction. Small, so that the daemon's writes hardly wait. */
const BATCH = 500;

const magnitude = (value: bigint) => (value < 0n ? -value : value);

/** Prices the stored requests of a period again and writes what differs, batch by batch. Can be interrupted at any time. */
export async function recomputeCosts(
  records: Pick<RecordStore, "read" | "count" | "updateCosts">,
  book: PriceBook,
  { period, dryRun, now, progress }: RecomputeOptions,
): Promise<Recomputed> {
  const total = records.count(period);
  const models = new Map<string, ModelChange>();
  const result: Recomputed = {
    requests: 0,
    changed: 0,
    same_cost: 0,
    cost_before_pico_usd: 0n,
    cost_after_pico_usd: 0n,
    models: [],
  };
  for (let afterSeq = 0; ; ) {
    const batch = records.read({ ...period, afterSeq, limit: BATCH });
    const last = batch.at(-1);
    if (last === undefined) break;
    afterSeq = last.seq;
    const updates = batch.flatMap((request) => recomputeRequest(request, book, result, models) ?? []);
    if (!dryRun && updates.length > 0) records.updateCosts(updates, now());
    progress(result.requests, total);
    // Lets signals and the terminal's events through.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const change = (each: ModelChange) => magnitude(each.after_pico_usd - each.before_pico_usd);
  result.models = [...models.values()].sort((one, other) => (change(one) < change(other) ? 1 : -1));
  return result;
}

/** Prices one request again and adds it to the result. Returns the update to store; null if nothing differs. */
function recomputeRequest(
  request: StoredRequest,
  book: PriceBook,
  result: Recomputed,
  models: Map<string, ModelChange>,
): CostUpdate | null {
  const explained = explainRequest(request, book);
  const priced = keepsAgentFigure(request, explained.priced) ? request : explained.priced;
  const [before, after] = [request.costPicoUsd ?? 0n, priced.costPicoUsd ?? 0n];
  result.requests += 1;
  result.cost_before_pico_usd += before;
  result.cost_after_pico_usd += after;
  const isSameCost = priced.costPicoUsd === request.costPicoUsd;
  if (isSameCost && priced.costSource === request.costSource && priced.ratesSource === request.ratesSource)
    return null;
  if (isSameCost) result.same_cost += 1;
  else {
    result.changed += 1;
    const { provider, model } = request;
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
  const { costPicoUsd, costSource, ratesSource } = priced;
  return { requestId: request.requestId, costPicoUsd, costSource, ratesSource };
}
