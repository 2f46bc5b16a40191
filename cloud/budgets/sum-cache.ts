import type { Clock } from "../../core/ports/clock.ts";
import type { Millis } from "../../core/values/time.ts";
import type { MachineSums } from "../store/reads/budget-sums.ts";

/** How long a sum answers the machines of a workspace, milliseconds. Source: docs/specification.md#fleet-budgets. */
export const SUM_CACHE_MS = 10_000;

/** The most sums that are kept, so that a server of many workspaces stays small. */
const MAX_SUMS = 10_000;

/** Recent sums of budgets, by machine, so that each machine of a workspace does not sum them again. */
export interface SumCache {
  /** Returns the sum of a key, or reads it. A failed reading is not kept. */
  read(key: string, load: () => Promise<MachineSums>): Promise<MachineSums>;
}

/** Creates a cache. */
export function createSumCache(clock: Pick<Clock, "now">): SumCache {
  const kept = new Map<string, { readonly at: Millis; readonly sums: MachineSums }>();
  return {
    async read(key, load) {
      const now = clock.now();
      const known = kept.get(key);
      if (known !== undefined && Math.abs(now - known.at) < SUM_CACHE_MS) return known.sums;
      const sums = await load();
      // In the order of their times, so that the first ones are the oldest.
      kept.delete(key);
      kept.set(key, { at: now, sums });
      for (const [old, { at }] of kept) {
        if (kept.size <= MAX_SUMS && now - at < SUM_CACHE_MS) break;
        kept.delete(old);
      }
      return sums;
    },
  };
}
