import type { Millis } from "../../values/time.ts";
import type { StatedLimit } from "./stated-limit.ts";

/** A reading of a window's use, as the history stores it. */
export interface LimitPoint extends Pick<StatedLimit, "usedPpm" | "resetAt"> {
  readonly seenAt: Millis;
}

/**
 * How a window changed between two readings. `reset`: its time had passed. `early_reset`: it began again before that.
 * `moved`: only the stated reset changed, as in a sliding window. `corrected`: the use fell and the reset did not
 * change. `unknown`: the use fell and no reset is stated.
 */
export type LimitChange = "same" | "reset" | "early_reset" | "moved" | "corrected" | "unknown";

/** Two resets that are closer than this are the same: providers round them, or state them as seconds from now. */
const MIN_TOLERANCE_MS = 120_000;

/** Of a long window, this part is tolerated. */
const TOLERATED_PART = 0.01;

const toleranceOf = (windowMs: number | null): number =>
  Math.max(MIN_TOLERANCE_MS, (windowMs ?? 0) * TOLERATED_PART);

/** Whether two readings state the same reset. */
export function isSameReset(
  one: Pick<LimitPoint, "resetAt">,
  other: Pick<LimitPoint, "resetAt">,
  windowMs: number | null,
): boolean {
  if (one.resetAt === null || other.resetAt === null) return one.resetAt === other.resetAt;
  return Math.abs(one.resetAt - other.resetAt) <= toleranceOf(windowMs);
}

/** Classifies the change from one reading to the next. */
export function classifyChange(before: LimitPoint, after: LimitPoint, windowMs: number | null): LimitChange {
  const fell = before.usedPpm !== null && after.usedPpm !== null && after.usedPpm < before.usedPpm;
  if (before.resetAt === null || after.resetAt === null) return fell ? "unknown" : "same";
  if (isSameReset(before, after, windowMs)) return fell ? "corrected" : "same";
  if (after.resetAt < before.resetAt) return "moved";
  if (after.seenAt >= before.resetAt - toleranceOf(windowMs)) return "reset";
  return fell ? "early_reset" : "moved";
}

/** A share that falls by at most this, and this soon, is that of an older response: responses of parallel calls cross. */
const CROSSED_PPM = 20_000;
const CROSSED_MS = 60_000;

/** Whether a reading is older than the one before it, although it was seen later. */
export function isCrossed(before: LimitPoint, after: LimitPoint, windowMs: number | null): boolean {
  if (classifyChange(before, after, windowMs) !== "corrected") return false;
  const fellBy = before.usedPpm! - after.usedPpm!;
  return fellBy <= CROSSED_PPM && after.seenAt - before.seenAt <= CROSSED_MS;
}

/** Whether a change begins the window again, so that its use counts from 0. */
export const isNewWindow = (change: LimitChange): boolean => change === "reset" || change === "early_reset";
