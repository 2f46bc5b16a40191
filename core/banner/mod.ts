/**
 * The one word that `status` begins with, and the reasons for it. The first that applies: not configured, paused,
 * degraded, active.
 *
 * ```ts
 * import { statusBanner } from "./mod.ts";
 *
 * const now = Date.UTC(2026, 0, 1);
 * const facts = {
 *   enabled: true, paired: true, pausedReason: null, consecutiveFailures: 3, lastTickAt: now, workerDegraded: false,
 *   bodiesEnabled: false, bodiesPausedReason: null, lastBodyTickAt: null, captureFailing: false, runningSince: now,
 * };
 * statusBanner(facts, now); // { banner: "DEGRADED", reasons: ["failures"] }
 * ```
 *
 * @module
 */
export {
  BANNER_FAILURES,
  BANNER_STALE_INTERVALS,
  type Banner,
  type BannerFacts,
  type BannerReason,
  BODY_STALE_MS,
  statusBanner,
} from "./status-banner.ts";
