import type { Millis } from "../../values/time.ts";
import { classifyChange, isNewWindow } from "./limit-change.ts";
import { type LimitReading, type StatedLimit, WHOLE_PPM } from "./stated-limit.ts";

/** How near a window is to its end, from the least to the most. */
const LIMIT_LEVELS = ["ok", "warning", "critical", "exceeded"] as const;
export type LimitLevel = (typeof LIMIT_LEVELS)[number];

/** The used share from which a level applies. Decision: the marks at which Claude Code warns are 75 % and 95 %. */
const WARNING_PPM = 750_000;
const CRITICAL_PPM = 950_000;

/** Windows that are shorter than this refill before a person can react. */
const MIN_WINDOW_MS = 3_600_000;

/** A change of a limit that a person may want to know at once. */
export interface LimitEvent {
  /** `limit.warning`: the level rose. `limit.reset`: the window began again. */
  readonly name: "limit.warning" | "limit.reset";
  readonly reading: LimitReading;
  readonly level: LimitLevel;
  /** Whether the window began again before the time that was stated. */
  readonly isEarly: boolean;
}

/** Returns the level of a reading: what the provider says, or what the share is, whichever is more. */
export function limitLevel({ status, usedPpm }: Pick<LimitReading, "status" | "usedPpm">): LimitLevel {
  const used = usedPpm ?? 0;
  if (status === "exceeded" || used >= WHOLE_PPM) return "exceeded";
  if (used >= CRITICAL_PPM) return "critical";
  return status === "warning" || used >= WARNING_PPM ? "warning" : "ok";
}

/** Whether a window has events. A window that refills within minutes has none. */
export function isLongWindow({ window, windowMs }: Pick<LimitReading, "window" | "windowMs">): boolean {
  return windowMs === null ? window !== "rate" : windowMs >= MIN_WINDOW_MS;
}

/** Returns the events of a reading that follows `before`; null if it is the window's first. */
export function findLimitEvents(before: LimitReading | null, reading: LimitReading): LimitEvent[] {
  if (!isLongWindow(reading)) return [];
  const change = before === null ? "same" : classifyChange(before, reading, reading.windowMs);
  const level = limitLevel(reading);
  const reset: LimitEvent[] = isNewWindow(change)
    ? [{ name: "limit.reset", reading, level, isEarly: change === "early_reset" }]
    : [];
  const earlier = before === null || isNewWindow(change) ? "ok" : limitLevel(before);
  if (LIMIT_LEVELS.indexOf(level) <= LIMIT_LEVELS.indexOf(earlier)) return reset;
  return [...reset, { name: "limit.warning", reading, level, isEarly: false }];
}

/** Two resets that are closer than this are the same. */
const SAME_RESET_MS = 120_000;

/**
 * Replaces a limit that names no window (`plan`) by the window of the account that resets at the same time. Returns it unchanged
 * if no window, or more than one, does.
 */
export function nameExhausted(exhausted: StatedLimit, known: readonly StatedLimit[]): StatedLimit {
  const { window, resetAt } = exhausted;
  if (window !== "plan" || resetAt === null) return exhausted;
  const same = known.filter(
    (each) => each.window !== "plan" && isSameTime(each.resetAt, resetAt) && each.unit === "share",
  );
  const [only, other] = same;
  if (only === undefined || other !== undefined) return exhausted;
  return {
    ...exhausted,
    window: only.window,
    windowMs: only.windowMs,
    scope: only.scope,
    usedPpm: only.usedPpm,
  };
}

const isSameTime = (one: Millis | null, other: Millis): boolean =>
  one !== null && Math.abs(one - other) <= SAME_RESET_MS;
