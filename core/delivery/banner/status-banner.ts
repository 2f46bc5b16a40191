import type { Millis } from "../../values/time.ts";
import { SYNC_INTERVAL_MS } from "../sync/sync-steps.ts";

/** The word that the status starts with. Source: docs/specification.md#metadata-sync. */
export type Banner = "ACTIVE" | "DEGRADED" | "PAUSED" | "NOT-CONFIGURED";

/** Consecutive failures from which the banner is DEGRADED. Source: docs/specification.md#status-banner, banner. */
export const BANNER_FAILURES = 3;

/** Intervals without a tick of the metadata worker after which the banner is DEGRADED. Source: docs/specification.md#status-banner, banner. */
export const BANNER_STALE_INTERVALS = 3;

/**
 * Time without a tick after which the body uploader is stale, in milliseconds. Source: docs/specification.md#limits: body
 * uploader staleness threshold 300 s.
 */
export const BODY_STALE_MS = 300_000;

/** The facts that determine the banner. */
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
  /** When the daemon started; `null` if it is not running. A daemon that has just started is not stale. */
  readonly runningSince: Millis | null;
}

/** Why the banner is not ACTIVE. The command line formats each as a sentence. */
export type BannerReason =
  | "not_enabled"
  | "never_paired"
  | "sync_paused"
  | "daemon_stopped"
  | "failures"
  | "tick_stale"
  | "worker_degraded"
  | "uploader_paused"
  | "uploader_stale"
  | "capture_failing";

/** Returns the banner with every reason for it. Source: docs/specification.md#status-banner: banner, first that applies. */
export function statusBanner(
  facts: BannerFacts,
  now: Millis,
): { readonly banner: Banner; readonly reasons: readonly BannerReason[] } {
  const unconfigured = applicableReasons([
    ["not_enabled", !facts.enabled],
    ["never_paired", !facts.paired],
  ]);
  if (unconfigured.length > 0) return { banner: "NOT-CONFIGURED", reasons: unconfigured };
  if (facts.pausedReason !== null) return { banner: "PAUSED", reasons: ["sync_paused"] };
  const { bodiesEnabled, runningSince } = facts;
  const degraded = applicableReasons([
    ["daemon_stopped", runningSince === null],
    ["failures", facts.consecutiveFailures >= BANNER_FAILURES],
    ["tick_stale", isStale(facts.lastTickAt, runningSince, BANNER_STALE_INTERVALS * SYNC_INTERVAL_MS, now)],
    ["worker_degraded", facts.workerDegraded],
    ["uploader_paused", bodiesEnabled && facts.bodiesPausedReason !== null],
    ["uploader_stale", bodiesEnabled && isStale(facts.lastBodyTickAt, runningSince, BODY_STALE_MS, now)],
    ["capture_failing", facts.captureFailing],
  ]);
  return { banner: degraded.length > 0 ? "DEGRADED" : "ACTIVE", reasons: degraded };
}

function applicableReasons(rows: readonly (readonly [BannerReason, boolean])[]): readonly BannerReason[] {
  return rows.filter(([, applies]) => applies).map(([reason]) => reason);
}

/** Whether a running daemon's worker has not ticked for longer than the limit, counted from the daemon's start. */
function isStale(tickAt: Millis | null, runningSince: Millis | null, limitMs: number, now: Millis): boolean {
  return runningSince !== null && now - Math.max(tickAt ?? runningSince, runningSince) > limitMs;
}
