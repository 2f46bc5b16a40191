import type { Clock } from "../../core/ports/clock.ts";
import type { Millis } from "../../core/values/time.ts";
import type { MachineSums } from "../store/reads/budget-sums.ts";

/** How long a sum is reused for the machines of a workspace, milliseconds. Source: docs/specification.md#fleet-budgets. */
export const SUM_CACHE_MS = 10_000;

/** The maximum number of stored sums. It bounds the memory of a server with many workspaces. */
const MAX_SUMS = 10_000;

/** Recent sums of budgets, by machine, so that the requests are not summed again for each machine of a workspace. */
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
      // Moves the key to the end, so that the oldest sums come first.
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
