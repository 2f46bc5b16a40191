import { isLongWindow, type LimitLevel, limitLevel } from "../../core/metering/limits/limit-events.ts";
import { type FullAt, readOutlook } from "../../core/metering/limits/limit-outlook.ts";
import type { LimitStatus, LimitUnit } from "../../core/metering/limits/stated-limit.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { LimitStore, StoredLimit } from "../store/port/limits.ts";

/** A window as the loopback API and `meter limits --json` show it. Times are ISO 8601 in UTC. Null is unknown. */
export interface LimitView {
  readonly id: number;
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

/** The history that the burn rate of any window needs, in milliseconds. */
const BURN_HISTORY_MS = 86_400_000;

/** Returns millionths as percent with at most two decimals. */
export const toPercent = (ppm: number | null): number | null =>
  ppm === null ? null : Math.round(ppm / 100) / 100;

/**
 * Reads the windows to show: of each account the shortest first. Rate limits that have refilled since they were seen, and windows that
 * ended long ago, are left out.
 */
export function readLimitViews(limits: Pick<LimitStore, "list" | "history">, now: Millis): LimitView[] {
  return limits
    .list()
    .filter((limit) => isListed(limit, now))
    .sort(byAccountAndLength)
    .map((limit) => toView(limit, limits, now));
}

/** Limits without those that refill within minutes. */
export const longWindowsOf = (
  limits: Pick<LimitStore, "list" | "history">,
): Pick<LimitStore, "list" | "history"> => ({
  list: () => limits.list().filter(isLongWindow),
  history: limits.history,
});

function isListed(limit: StoredLimit, now: Millis): boolean {
  const { resetAt, seenAt } = limit;
  const isLong = isLongWindow(limit);
  if (resetAt === null) return now - seenAt < (isLong ? LISTED_MS : RATE_LISTED_MS);
  return resetAt + (isLong ? LISTED_AFTER_RESET_MS : 0) > now;
}

const byAccountAndLength = (one: StoredLimit, other: StoredLimit): number =>
  byText(one.provider, other.provider) ||
  byText(one.account ?? "", other.account ?? "") ||
  (one.windowMs ?? Number.MAX_SAFE_INTEGER) - (other.windowMs ?? Number.MAX_SAFE_INTEGER) ||
  byText(one.window, other.window) ||
  byText(one.scope ?? "", other.scope ?? "") ||
  byText(one.unit, other.unit);

const byText = (one: string, other: string): number => (one < other ? -1 : one === other ? 0 : 1);

const toIso = (at: Millis | null): string | null => (at === null ? null : formatInstant(at));

function toView(limit: StoredLimit, limits: Pick<LimitStore, "history">, now: Millis): LimitView {
  const { isOver, elapsedPpm, burnPpmPerHour, fullAt } = readOutlook(
    limit,
    limits.history(limit.id, now - BURN_HISTORY_MS),
    now,
  );
  return {
    id: limit.id,
    provider: limit.provider,
    account: limit.account,
    window: limit.window,
    scope: limit.scope,
    unit: limit.unit,
    used_percent: isOver ? null : toPercent(limit.usedPpm),
    limit: limit.limit,
    remaining: isOver ? null : limit.remaining,
    resets_at: toIso(limit.resetAt),
    status: isOver ? null : limit.status,
    level: isOver ? "ok" : limitLevel(limit),
    seen_at: formatInstant(limit.seenAt),
    is_over: isOver,
    elapsed_percent: toPercent(elapsedPpm),
    burn_percent_per_hour: toPercent(burnPpmPerHour),
    full: fullAt.kind,
    full_at: fullAt.kind === "at" ? toIso(fullAt.at) : null,
  };
}
