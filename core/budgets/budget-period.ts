import type { Millis } from "../values/time.ts";
import type { Budget, BudgetPeriod, CalendarPeriod } from "./budget.ts";

/** Half-open: `from` belongs to the period, `to` does not. `to` is null if the period does not end by itself. */
export interface PeriodBounds {
  readonly from: Millis;
  readonly to: Millis | null;
}

/** A rolling period moves in this many steps, so that its sum is made of as many parts. */
export const ROLLING_STEPS = 60;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * Returns the period that a time belongs to. A calendar period begins and ends by the clocks of its zone: a day has 23, 24 or 25
 * hours. A rolling period ends after now, and begins with the step that contains `now - length`.
 */
export function budgetPeriod({ period }: Pick<Budget, "period">, now: Millis): PeriodBounds {
  switch (period.kind) {
    case "session":
    case "total":
      return { from: 0, to: null };
    case "rolling":
      return { from: stepStart(period.lengthMs, now - period.lengthMs), to: null };
    case "hour":
      return hourBounds(period.zone, now);
    default:
      return calendarBounds(period.kind, period.zone, now);
  }
}

/** Returns the length of a step of a rolling period, in milliseconds. */
export const rollingStepMs = (lengthMs: number): number => Math.max(1, Math.floor(lengthMs / ROLLING_STEPS));

/** Returns the start of the step of a rolling period that contains a time. */
export function stepStart(lengthMs: number, at: Millis): Millis {
  const stepMs = rollingStepMs(lengthMs);
  return Math.floor(at / stepMs) * stepMs;
}

/** Returns the start of the part of a sum that a call belongs to: a step of a rolling period, or the whole of any other. */
export function partStart(period: BudgetPeriod, bounds: PeriodBounds, at: Millis): Millis {
  return period.kind === "rolling" ? stepStart(period.lengthMs, at) : bounds.from;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "iso8601",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formats.set(zone, format);
  }
  return format;
}

/** Whether the runtime knows a time zone. */
export function isTimeZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** Returns what the zone's clocks show at a time, as if they showed UTC. */
function localTime(zone: string, at: Millis): Millis {
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) parts[type] = Number(value);
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((at % 1000) + 1000) % 1000);
}

/**
 * Returns the first instant at which the zone's clocks show this time or, where they skip it, a later one: clocks are at most a day
 * away from UTC, and change at whole minutes.
 */
function firstInstant(zone: string, local: Millis): Millis {
  let before = local - DAY_MS;
  let after = local + DAY_MS;
  // A clock that is set back shows a time twice. Only the part of the range before the first of them shows earlier times.
  const early = local - (localTime(zone, before) - before);
  const late = local - (localTime(zone, after) - after);
  const candidates = [Math.min(early, late), Math.max(early, late)];
  for (const at of candidates) if (localTime(zone, at) === local) return at;
  [before, after] = [candidates[0] as number, candidates[1] as number];
  while (after - before > MINUTE_MS) {
    const middle = before + Math.floor((after - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (localTime(zone, middle) >= local) after = middle;
    else before = middle;
  }
  return after;
}

function calendarBounds(kind: Exclude<CalendarPeriod, "hour">, zone: string, now: Millis): PeriodBounds {
  const local = new Date(localTime(zone, now));
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const first = kind === "month" ? 1 : kind === "week" ? day - ((local.getUTCDay() + 6) % 7) : day;
  const days = kind === "week" ? 7 : 1;
  const next = kind === "month" ? Date.UTC(year, month + 1, 1) : Date.UTC(year, month, first + days);
  return { from: firstInstant(zone, Date.UTC(year, month, first)), to: firstInstant(zone, next) };
}

/** An hour that the clocks show twice is two hours. */
function hourBounds(zone: string, now: Millis): PeriodBounds {
  const sinceHour = ((localTime(zone, now) % HOUR_MS) + HOUR_MS) % HOUR_MS;
  return { from: now - sinceHour, to: now - sinceHour + HOUR_MS };
}
