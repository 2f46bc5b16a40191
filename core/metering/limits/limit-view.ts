import type { Millis } from "../../values/time.ts";
import { formatInstant, formatInstantOrNull } from "../../wire/instant.ts";
import type { LimitPoint } from "./limit-change.ts";
import { isLongWindow, type LimitLevel, limitLevel } from "./limit-events.ts";
import { type FullAt, readOutlook } from "./limit-outlook.ts";
import type { LimitReading, LimitStatus, LimitUnit } from "./stated-limit.ts";

/** A window as machines and clouds show it. Times are ISO 8601 in UTC. Null is unknown. */
export interface LimitView {
  readonly provider: string;
  /** A keyed hash. */
  readonly account: string | null;
  readonly window: string;
  readonly scope: string | null;
  readonly unit: LimitUnit;
  readonly used_percent: number | null;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resets_at: string | null;
  /** The provider's own status. */
  readonly status: LimitStatus | null;
  readonly level: LimitLevel;
  readonly seen_at: string;
  /** Whether the window has reset since it was seen. Its use is not known until the next response. */
  readonly is_over: boolean;
  /** How much of the window's time has passed. */
  readonly elapsed_percent: number | null;
  readonly burn_percent_per_hour: number | null;
  /** `lasts`: not before the reset at the current rate. */
  readonly full: FullAt["kind"];
  readonly full_at: string | null;
}

/** How long a window is listed after it was seen, if it states no reset, in milliseconds; and how long a rate limit is. */
const LISTED_MS = 86_400_000;
const RATE_LISTED_MS = 300_000;

/** How long a window is listed after its reset, in milliseconds. Windows that begin with a call may stay unused for days. */
const LISTED_AFTER_RESET_MS = 2 * LISTED_MS;

/** Returns millionths as percent with at most two decimals. */
export const toPercent = (ppm: number | null): number | null =>
  ppm === null ? null : Math.round(ppm / 100) / 100;

/** Whether a window is shown: not a rate limit that has refilled since it was seen, and not a window that ended long ago. */
export function isLimitListed(limit: LimitReading, now: Millis): boolean {
  const { resetAt, seenAt } = limit;
  const isLong = isLongWindow(limit);
  if (resetAt === null) return now - seenAt < (isLong ? LISTED_MS : RATE_LISTED_MS);
  return resetAt + (isLong ? LISTED_AFTER_RESET_MS : 0) > now;
}

/** Compares windows by account, then the shortest first. */
export const compareLimits = (one: LimitReading, other: LimitReading): number =>
  byText(one.provider, other.provider) ||
  byText(one.account ?? "", other.account ?? "") ||
  (one.windowMs ?? Number.MAX_SAFE_INTEGER) - (other.windowMs ?? Number.MAX_SAFE_INTEGER) ||
  byText(one.window, other.window) ||
  byText(one.scope ?? "", other.scope ?? "") ||
  byText(one.unit, other.unit);

const byText = (one: string, other: string): number => (one < other ? -1 : one === other ? 0 : 1);

/** Returns a window as it is shown. `points` are its readings in order of time, the newest last; without them it has no forecast. */
export function toLimitView(limit: LimitReading, points: readonly LimitPoint[], now: Millis): LimitView {
  const { isOver, elapsedPpm, burnPpmPerHour, fullAt } = readOutlook(limit, points, now);
  return {
    provider: limit.provider,
    account: limit.account,
    window: limit.window,
    scope: limit.scope,
    unit: limit.unit,
    used_percent: isOver ? null : toPercent(limit.usedPpm),
    limit: limit.limit,
    remaining: isOver ? null : limit.remaining,
    resets_at: formatInstantOrNull(limit.resetAt),
    status: isOver ? null : limit.status,
    level: isOver ? "ok" : limitLevel(limit),
    seen_at: formatInstant(limit.seenAt),
    is_over: isOver,
    elapsed_percent: toPercent(elapsedPpm),
    burn_percent_per_hour: toPercent(burnPpmPerHour),
    full: fullAt.kind,
    full_at: fullAt.kind === "at" ? formatInstantOrNull(fullAt.at) : null,
  };
}
