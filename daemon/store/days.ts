import { type CalendarDate, DAY_MS, type Millis } from "../../core/values/time.ts";
import { findZone } from "../../core/values/zone.ts";
import type { DayZone } from "./port/values.ts";

/** A calendar day as a half-open period. It is 23 or 25 hours long when daylight saving time starts or ends. */
export interface Day {
  date: CalendarDate;
  from: Millis;
  to: Millis;
}

/**
 * Returns the name of this machine's time zone. UTC if the runtime does not know it, as with `TZ=Nowhere/Land`: its local times are in UTC
 * then, too.
 */
export function localZone(): string {
  const name: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name === undefined || findZone(name) === null ? "UTC" : name;
}

/** Returns the day that contains the instant. A local day starts at its first instant, even if midnight is skipped or repeated. */
export function dayOf(at: Millis, zone: DayZone): Day {
  if (zone === "utc") {
    const from = Math.floor(at / DAY_MS) * DAY_MS;
    return { date: new Date(from).toISOString().slice(0, 10), from, to: from + DAY_MS };
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
