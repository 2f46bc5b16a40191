import { createManualClock, type ManualClock } from "../../../adapters/clock/manual-clock.ts";
import type { LimitEvent } from "../../../core/metering/limits/limit-events.ts";
import type { StatedLimit } from "../../../core/metering/limits/stated-limit.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import { createLimitTracker, type LimitTracker } from "../../../daemon/limits/limit-tracker.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { limit } from "../../core/metering/limits/limits.rig.ts";
import { opener } from "../store/open-sample-store.rig.ts";

export const HOUR = 3_600_000;
export const start = Date.UTC(2026, 7, 31, 9);

/** A tracker on a store in memory. */
export interface TrackerRig {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly tracker: LimitTracker;
  readonly events: LimitEvent[];
  readonly failures: unknown[];
  /** How often the tracker has saved. */
  readonly saves: { count: number };
  /** Makes the store unusable, or usable again. */
  break(error: StoreError | null): void;
  /** States limits of 5 hours that reset in 5 hours, of one account. */
  state(members: Partial<StatedLimit>, account?: string | null): void;
  /** Creates another tracker on the store, as after a restart. Its first reads fail. */
  restart(failedReads?: number): Promise<TrackerRig>;
}

export const unusable = new StoreError("disk_full", "the disk is full");

export async function openTracker(
  given: { store?: Store; clock?: ManualClock; failedReads?: number } = {},
): Promise<TrackerRig> {
  const store = given.store ?? (await openStore(opener, ":memory:"));
  const clock = given.clock ?? createManualClock(start);
  const events: LimitEvent[] = [];
  const failures: unknown[] = [];
  const saves = { count: 0 };
  let trouble: StoreError | null = null;
  let { failedReads = 0 } = given;
  const tracker = createLimitTracker({
    store: {
      opened: store.opened,
      get trouble() {
        return trouble;
      },
      limits: {
        ...store.limits,
        list() {
          if (failedReads-- > 0) throw unusable;
          return store.limits.list();
        },
        save(changed) {
          saves.count += 1;
          store.limits.save(changed);
        },
      },
    },
    clock,
    onEvent: (event) => events.push(event),
    onFailure: (cause) => failures.push(cause),
  });
  await store.opened;
  return {
    store,
    clock,
    tracker,
    events,
    failures,
    saves,
    break(error) {
      trouble = error;
    },
    state: (members, account = "a1") =>
      tracker.add({ provider: "anthropic", account }, [limit({ resetAt: start + 5 * HOUR, ...members })]),
    restart: (reads = 0) => openTracker({ store, clock, failedReads: reads }),
  };
}
