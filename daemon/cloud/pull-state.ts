import { MIN_PULL_INTERVAL_MS } from "../../core/pricing/mod.ts";
import type { Millis } from "../../core/time.ts";
import type { SettingStore } from "../store/mod.ts";

/** When rates were last asked for with an answer that was taken, milliseconds. */
const PULLED_AT_KEY = "rates_pulled_at";

/** The pull that failed since: when, and why. */
const FAILED_KEY = "rates_pull_failed";

/** A pull of rates that changed nothing. */
export interface PullFailure {
  at: Millis;
  /** For people; may hold words of the other side. */
  error: string;
}

/** How the pulls went: the last that was taken, and the last that failed where none was taken after it. */
export interface PullHistory {
  pulledAt: Millis | null;
  failure: PullFailure | null;
}

/** Reads what is kept of the pulls. */
export function readPullHistory(store: Pick<SettingStore, "readMeta">): PullHistory {
  const [pulledAt, failed] = [store.readMeta(PULLED_AT_KEY), store.readMeta(FAILED_KEY)];
  return {
    pulledAt: pulledAt === null ? null : Number(pulledAt),
    failure: failed === null ? null : (JSON.parse(failed) as PullFailure),
  };
}

/** When the next pull is due: the interval after one that was taken, the floor of it after one that failed. */
export function nextPullAt({ pulledAt, failure }: PullHistory, intervalMs: number): Millis {
  return failure === null ? (pulledAt ?? 0) + intervalMs : failure.at + MIN_PULL_INTERVAL_MS;
}

/** Keeps that a pull was taken, or found nothing new. */
export function keepPulled(store: Pick<SettingStore, "writeMeta">, at: Millis): void {
  store.writeMeta(PULLED_AT_KEY, String(at));
  store.writeMeta(FAILED_KEY, null);
}

/** Keeps that a pull failed. */
export function keepPullFailure(store: Pick<SettingStore, "writeMeta">, { at, error }: PullFailure): void {
  store.writeMeta(FAILED_KEY, JSON.stringify({ at, error }));
}
