import { clampPullInterval } from "../core/pricing/mod.ts";
import { nextPullAt, type PullHistory, readPullHistory } from "../daemon/cloud/pull-state.ts";
import { CommandFailure } from "./exit-codes.ts";
import { withStore } from "./open-store.ts";

/** Where rates are pulled from and when; snake case, as `--json` prints it. */
export interface PullState {
  auto_pull: boolean;
  interval_seconds: number;
  /** Null: from the cloud. */
  pull_url: string | null;
  last_pull_at: string | null;
  /** The last pull that failed, where none was taken after it. */
  last_failed_at: string | null;
  last_error: string | null;
  /** Null where none is planned, or where it is due at once. */
  next_pull_at: string | null;
}

/** What is known of the pulls; works before there is a database, too. */
export async function readPullState(
  home: string,
  pricing: { autoPull: boolean; pullIntervalMs: number; pullUrl: string | null },
): Promise<PullState> {
  let history: PullHistory = { pulledAt: null, failure: null };
  try {
    history = await withStore(home, { readOnly: true }, async (store) => readPullHistory(store));
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause;
  }
  const { pulledAt, failure } = history;
  const intervalMs = clampPullInterval(pricing.pullIntervalMs);
  const iso = (at: number) => new Date(at).toISOString();
  return {
    auto_pull: pricing.autoPull,
    interval_seconds: intervalMs / 1000,
    pull_url: pricing.pullUrl,
    last_pull_at: pulledAt === null ? null : iso(pulledAt),
    last_failed_at: failure === null ? null : iso(failure.at),
    last_error: failure?.error ?? null,
    next_pull_at:
      pricing.autoPull && (pulledAt !== null || failure !== null)
        ? iso(nextPullAt(history, intervalMs))
        : null,
  };
}
