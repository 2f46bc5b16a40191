import { HOUR_MS, type Millis } from "../values/time.ts";
import { addDays, findZone, monthOf, weekdayOf, type ZoneCalendar } from "../values/zone.ts";
import type { Budget, BudgetPeriod, CalendarPeriod } from "./budget.ts";

/** Half-open: `from` belongs to the period, `to` does not. `to` is null if the period does not end by itself. */
export interface PeriodBounds {
  readonly from: Millis;
  readonly to: Millis | null;
}

/** A rolling period moves in this many steps, so that its sum is made of as many parts. */
const ROLLING_STEPS = 60;

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

function calendarBounds(
  kind: Exclude<CalendarPeriod, "hour">,
  zone: string,
  now: Millis,
): PeriodBounds & { readonly to: Millis } {
  const calendar = calendarOf(zone);
  const today = calendar.dateAt(now);
  if (kind === "month")
    return { from: calendar.startOf(monthOf(today)), to: calendar.startOf(monthOf(today, 1)) };
  const first = kind === "week" ? addDays(today, -weekdayOf(today)) : today;
  return {
    from: calendar.startOf(first),
    to: calendar.startOf(addDays(first, kind === "week" ? 7 : 1)),
  };
}

/**
 * An hour that the clocks repeat counts as two hours. Hours are counted from the start of the day, so that there are no
 * gaps and no overlaps where clocks change by half an hour.
 */
function hourBounds(zone: string, now: Millis): PeriodBounds {
  const day = calendarBounds("day", zone, now);
  const from = day.from + Math.floor((now - day.from) / HOUR_MS) * HOUR_MS;
  return { from, to: Math.min(from + HOUR_MS, day.to) };
}

function calendarOf(zone: string): ZoneCalendar {
  const calendar = findZone(zone);
  if (calendar === null) throw new RangeError(`The runtime does not know the time zone: ${zone}`);
  return calendar;
}
