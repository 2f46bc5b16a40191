/**
 * How far back each endpoint answers. Retention clamps what queries show and deletes nothing; no promise of erasure is
 * made. Analytics and traces refuse a period that reaches past the floor, the others move its beginning up and say so.
 *
 * ```ts
 * import { clampWindow } from "./mod.ts";
 *
 * const now = Date.UTC(2026, 10, 21);
 * const facts = { now, plan: "solo", dataRetentionDays: 365, auditLogRetentionDays: 365 } as const;
 * const twoWeeks = { from: Date.UTC(2026, 10, 7), to: now };
 * clampWindow("overview", twoWeeks, facts).ok; // true
 * clampWindow("traces", twoWeeks, facts); // { ok: false, reason: "period_before_floor", floor: Date.UTC(2026, 10, 14) }
 * ```
 *
 * @module
 */
export {
  type DateWindowVerdict,
  type PeriodTexts,
  type PeriodVerdict,
  readDateWindow,
  readPeriod,
} from "./read-period.ts";
export { judgeSweep, SWEEP_INTERVAL_MS, type SweepFacts, sweepBefore } from "./sweep.ts";
export {
  clampWindow,
  defaultFrom,
  floorOf,
  isWithinReach,
  type ReachFacts,
  type ReadEndpoint,
  type UtcPeriod,
  WINDOW_TABLE,
  type WindowRule,
  type WindowVerdict,
} from "./windows.ts";
