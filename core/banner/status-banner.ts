import { SYNC_INTERVAL_MS } from "../sync/mod.ts";
import type { Millis } from "../time.ts";

/** Source: contract, "Daemon metadata sync": the status banner shows one of these. */
export type Banner = "ACTIVE" | "DEGRADED" | "PAUSED" | "NOT-CONFIGURED";

/** Consecutive failures that degrade. Source: decisions, "Daemon", banner. */
export const BANNER_FAILURES = 3;

/** Intervals without a tick of the metadata worker that degrade. Source: decisions, "Daemon", banner. */
export const BANNER_STALE_INTERVALS = 3;

/** Age at which the body uploader is stale, milliseconds. Source: contract, "Limits": body uploader staleness threshold 300 s. */
export const BODY_STALE_MS = 300_000;

/** What the banner is decided from. */
export interface BannerFacts {
  readonly enabled: boolean;
  readonly paired: boolean;
  /** `cloud_sync_state.paused_reason`. */
  readonly pausedReason: string | null;
  readonly consecutiveFailures: number;
  readonly lastTickAt: Millis | null;
  readonly workerDegraded: boolean;
  /** `[cloud.bodies] enabled`. */
  readonly bodiesEnabled: boolean;
  readonly bodiesPausedReason: string | null;
  readonly lastBodyTickAt: Millis | null;
  readonly captureFailing: boolean;
  /** When the daemon began; `null` where it does not run. A daemon that just began is not stale yet. */
  readonly runningSince: Millis | null;
}

/** Why the banner is not ACTIVE, each as a word that the command line turns into a sentence. */
export type BannerReason =
  | "not_enabled"
  | "never_paired"
  | "sync_paused"
  | "failures"
  | "tick_stale"
  | "worker_degraded"
  | "uploader_paused"
  | "uploader_stale"
  | "capture_failing";

/** The banner with every reason for it. Source: decisions, "Daemon": banner, first that applies. */
export function statusBanner(
  facts: BannerFacts,
  now: Millis,
): { readonly banner: Banner; readonly reasons: readonly BannerReason[] } {
  const unconfigured = reasonsOf([
    ["not_enabled", !facts.enabled],
    ["never_paired", !facts.paired],
  ]);
  if (unconfigured.length > 0) return { banner: "NOT-CONFIGURED", reasons: unconfigured };
  if (facts.pausedReason !== null) return { banner: "PAUSED", reasons: ["sync_paused"] };
  const { bodiesEnabled, runningSince } = facts;
  const degraded = reasonsOf([
    ["failures", facts.consecutiveFailures >= BANNER_FAILURES],
    ["tick_stale", isStale(facts.lastTickAt, runningSince, BANNER_STALE_INTERVALS * SYNC_INTERVAL_MS, now)],
    ["worker_degraded", facts.workerDegraded],
    ["uploader_paused", bodiesEnabled && facts.bodiesPausedReason !== null],
    ["uploader_stale", bodiesEnabled && isStale(facts.lastBodyTickAt, runningSince, BODY_STALE_MS, now)],
    ["capture_failing", facts.captureFailing],
  ]);
  return { banner: degraded.length > 0 ? "DEGRADED" : "ACTIVE", reasons: degraded };
}

function reasonsOf(rows: readonly (readonly [BannerReason, boolean])[]): readonly BannerReason[] {
  return rows.filter(([, applies]) => applies).map(([reason]) => reason);
}

function isStale(tickAt: Millis | null, runningSince: Millis | null, limitMs: number, now: Millis): boolean {
  const at = Math.max(tickAt ?? Number.NEGATIVE_INFINITY, runningSince ?? Number.NEGATIVE_INFINITY);
  return now - at > limitMs;
}
