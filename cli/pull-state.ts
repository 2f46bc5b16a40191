import { clampPullInterval } from "../core/pricing/mod.ts";
import { PULLED_AT_KEY } from "../daemon/cloud/refresh-rates.ts";
import { CommandFailure } from "./exit-codes.ts";
import { withStore } from "./open-store.ts";

/** Where rates are pulled from and when; snake case, as `--json` prints it. */
export interface PullState {
  auto_pull: boolean;
  interval_seconds: number;
  /** Null: from the cloud. */
  pull_url: string | null;
  last_pull_at: string | null;
  /** Null where none is planned. */
  next_pull_at: string | null;
}

/** What is known of the pulls; works before there is a database, too. */
export async function readPullState(
  home: string,
  pricing: { autoPull: boolean; pullIntervalMs: number; pullUrl: string | null },
): Promise<PullState> {
  let pulledAt: string | null = null;
  try {
    pulledAt = await withStore(home, { readOnly: true }, async (store) => store.readMeta(PULLED_AT_KEY));
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause;
  }
  const intervalMs = clampPullInterval(pricing.pullIntervalMs);
  const iso = (at: number) => new Date(at).toISOString();
  return {
    auto_pull: pricing.autoPull,
    interval_seconds: intervalMs / 1000,
    pull_url: pricing.pullUrl,
    last_pull_at: pulledAt === null ? null : iso(Number(pulledAt)),
    next_pull_at: pricing.autoPull && pulledAt !== null ? iso(Number(pulledAt) + intervalMs) : null,
  };
}
