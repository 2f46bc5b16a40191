import type { CalendarDate, Millis } from "../../core/time.ts";

/** Which calendar splits time into days: the machine's, or UTC's. */
export type DayZone = "local" | "utc";

/** One calendar day as the half-open span of time that it is: 23, 24 or 25 hours where clocks are put forward or back. */
export interface Day {
  date: CalendarDate;
  from: Millis;
  to: Millis;
}

const dayMs = 86_400_000;

/** The day that holds the instant. Local days begin at their first instant, where midnight is skipped or comes twice too. */
export function dayOf(at: Millis, zone: DayZone): Day {
  if (zone === "utc") {
    const from = Math.floor(at / dayMs) * dayMs;
    return { date: new Date(from).toISOString().slice(0, 10), from, to: from + dayMs };
  }
  const local = new Date(at);
  const [year, month, day] = [local.getFullYear(), local.getMonth(), local.getDate()];
  // A day that the calendar left out (Samoa, 2011-12-30) has no length; the next one starts where it would have.
  let next = day + 1;
  while (new Date(year, month, next).getTime() <= at) next++;
  return {
    date: new Date(Date.UTC(year, month, day)).toISOString().slice(0, 10),
    from: new Date(year, month, day).getTime(),
    to: new Date(year, month, next).getTime(),
  };
}
