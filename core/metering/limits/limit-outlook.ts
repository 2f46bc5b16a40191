import { DAY_MS, HOUR_MS, type Millis } from "../../values/time.ts";
import { isSameReset, type LimitPoint } from "./limit-change.ts";
import { type LimitReading, WHOLE_PPM } from "./stated-limit.ts";

/** The burn rate is that of the last fifth of a window, but of at least 15 minutes and at most a day. */
const BURN_PART = 0.2;
const MIN_BURN_MS = 900_000;

/** Shares are rounded to a percent, so a rate over less time than this would be noise. */
const MIN_SPAN_MS = 300_000;

/** When a window is full: now, at a time, not before its reset, or unknown. */
export type FullAt =
  | { readonly kind: "full" }
  | { readonly kind: "at"; readonly at: Millis }
  | { readonly kind: "lasts" }
  | { readonly kind: "unknown" };

/** The forecast of a window, from a reading and its history. */
export interface LimitOutlook {
  /** Whether the window has reset since the reading, so that its use is over. */
  readonly isOver: boolean;
  /** How much of the window's time has passed, in millionths. */
  readonly elapsedPpm: number | null;
  /** How much of the window is used per hour, in millionths. */
  readonly burnPpmPerHour: number | null;
  readonly fullAt: FullAt;
}

/**
 * Computes pace and forecast of a window. `points` are its readings in order of time, the newest last. If a provider
 * rounds the use to a percent, the rate is as coarse.
 */
export function readOutlook(reading: LimitReading, points: readonly LimitPoint[], now: Millis): LimitOutlook {
  const isOver = reading.resetAt !== null && reading.resetAt <= now;
  if (isOver) return { isOver, elapsedPpm: null, burnPpmPerHour: null, fullAt: { kind: "unknown" } };
  const burnPpmPerHour = burnRate(points, reading.windowMs, now);
  return {
    isOver,
    elapsedPpm: elapsedPart(reading, now),
    burnPpmPerHour,
    fullAt: forecastFull(reading, burnPpmPerHour, now),
  };
}

function elapsedPart({ resetAt, windowMs }: LimitReading, now: Millis): number | null {
  if (resetAt === null || windowMs === null) return null;
  const elapsed = 1 - (resetAt - now) / windowMs;
  return Math.round(Math.min(Math.max(elapsed, 0), 1) * WHOLE_PPM);
}

/** Returns the burn rate within the newest reset value, or null if its readings span too little time. */
export function burnRate(points: readonly LimitPoint[], windowMs: number | null, now: Millis): number | null {
  const last = points.at(-1);
  if (last === undefined || last.usedPpm === null) return null;
  const sinceMs = now - Math.min(Math.max((windowMs ?? DAY_MS) * BURN_PART, MIN_BURN_MS), DAY_MS);
  let first = last;
  for (let at = points.length - 2; at >= 0 && first.seenAt > sinceMs; at--) {
    const point = points[at] as LimitPoint;
    const isEarlier = point.usedPpm !== null && point.usedPpm <= (first.usedPpm as number);
    if (!isEarlier || !isSameReset(point, last, windowMs)) break;
    first = point;
  }
  const spanMs = now - Math.max(first.seenAt, sinceMs);
  if (first === last || spanMs < MIN_SPAN_MS) return null;
  return Math.round(((last.usedPpm - (first.usedPpm as number)) * HOUR_MS) / spanMs);
}

function forecastFull({ usedPpm, status, resetAt }: LimitReading, burn: number | null, now: Millis): FullAt {
  if (status === "exceeded" || (usedPpm !== null && usedPpm >= WHOLE_PPM)) return { kind: "full" };
  if (usedPpm === null || burn === null) return { kind: "unknown" };
  if (burn === 0) return { kind: "lasts" };
  const at = now + Math.round(((WHOLE_PPM - usedPpm) / burn) * HOUR_MS);
  return resetAt !== null && at >= resetAt ? { kind: "lasts" } : { kind: "at", at };
}
