import type { CalendarDate, Millis } from "../../values/time.ts";
import { addDays, daysBetween, monthOf, type ZoneCalendar } from "../../values/zone.ts";
import { USAGE_PERIODS } from "../../wire/usage.ts";
import { datesOf, readBounds, type UsageBounds } from "./usage-plan.ts";
import type { UsageQuery } from "./usage-query.ts";

type Period = UsageQuery["period"];

/** Days with an exclusive end. */
interface Days {
  readonly from: CalendarDate;
  readonly to: CalendarDate;
}

/**
 * Returns the period of the same length before another one, or after it: whole months for months, days for days, and otherwise the
 * same time. A period that has a name is returned by its name. Null if the period is not valid, or the other one would begin
 * before 1970 or after now.
 */
export function stepPeriod(
  period: Period,
  direction: "previous" | "next",
  { now, zone }: { readonly now: Millis; readonly zone: ZoneCalendar },
): Period | null {
  const bounds = readBounds({ period }, now, zone);
  if ("code" in bounds) return null;
  const sign = direction === "next" ? 1 : -1;
  const today = zone.dateAt(now);
  const days = toDays(period, bounds, zone, today);
  if (days === null) {
    const shift = sign * (bounds.to - bounds.from);
    const from = bounds.from + shift;
    if (from < 0 || from > now) return null;
    return { from: new Date(from).toISOString(), to: new Date(bounds.to + shift).toISOString() };
  }
  const stepped = stepDays(days, sign);
  if (stepped.from > today || stepped.from < FIRST_DAY) return null;
  const name = USAGE_PERIODS.find((each) => isSame(wholeDaysOf(each, today), stepped));
  return name ?? stepped;
}

/** The first day of a year whose every local time is after the first instant of 1970. */
const FIRST_DAY = "1971-01-01";

/** Returns the days that a named period has when it is over. */
function wholeDaysOf(name: Extract<Period, string>, today: CalendarDate): Days {
  const { from, to } = datesOf(name, today);
  if (to !== null) return { from, to };
  return { from, to: name === "mtd" || name === "12m" ? monthOf(today, 1) : addDays(today, 1) };
}

const isSame = (one: Days, other: Days): boolean => one.from === other.from && one.to === other.to;

/** Returns the days of a period; null if it does not consist of whole days. A day that is not over counts as one. */
function toDays(
  period: Period,
  { from, to }: UsageBounds,
  zone: ZoneCalendar,
  today: CalendarDate,
): Days | null {
  if (typeof period === "string") return wholeDaysOf(period, today);
  const isStart = (at: Millis) => zone.startOf(zone.dateAt(at)) === at;
  if (!isStart(from)) return null;
  if (period.to === null) return { from: zone.dateAt(from), to: addDays(today, 1) };
  return isStart(to) ? { from: zone.dateAt(from), to: zone.dateAt(to) } : null;
}

/** Moves days by their number, and whole months by theirs. */
function stepDays({ from, to }: Days, sign: 1 | -1): Days {
  if (monthOf(from) === from && monthOf(to) === to) {
    const months = sign * monthsBetween(from, to);
    return { from: monthOf(from, months), to: monthOf(to, months) };
  }
  const days = sign * daysBetween(from, to);
  return { from: addDays(from, days), to: addDays(to, days) };
}

const monthsBetween = (from: CalendarDate, to: CalendarDate): number => {
  const [count = 0, before = 0] = [to, from].map((date) => {
    const [year = 0, month = 0] = date.split("-").map(Number);
    return year * 12 + month;
  });
  return count - before;
};
