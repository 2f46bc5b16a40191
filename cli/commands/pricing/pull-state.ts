import { clampPullInterval } from "../../../core/pricing/guard.ts";
import { nextPullAt, type PullHistory, readPullHistory } from "../../../daemon/cloud/pull-state.ts";
import { withStore } from "../../home/open-store.ts";
import { CommandFailure } from "../../program/exit-codes.ts";

/** Where rates are pulled from and when; snake case, as `--json` prints it. */
export interface PullState {
  auto_pull: boolean;
  interval_seconds: number;
  /** The name of a public price list, or `cloud`; null if none is configured. */
  source: string | null;
  /** Null if rates are pulled from the cloud or from a public list at its own address. */
  pull_url: string | null;
  last_pull_at: string | null;
  /** The last failed pull, unless a later one succeeded. */
  last_failed_at: string | null;
  last_error: string | null;
  /** Null if none is planned, or if it is due now. */
  next_pull_at: string | null;
}

/** Reads where and when rates are pulled. Works even if there is no database. */
export async function readPullState(
  home: string,
  pricing: { autoPull: boolean; pullIntervalMs: number; pullUrl: string | null; source: string | null },
): Promise<PullState> {
  let history: PullHistory = { pulledAt: null, failure: null };
  try {
    history = await withStore(home, { readOnly: true }, async (store) => readPullHistory(store.notes));
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause;
  }
  const { pulledAt, failure } = history;
  const intervalMs = clampPullInterval(pricing.pullIntervalMs);
  const iso = (at: number) => new Date(at).toISOString();
  return {
    auto_pull: pricing.autoPull,
    interval_seconds: intervalMs / 1000,
    source: pricing.source,
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
