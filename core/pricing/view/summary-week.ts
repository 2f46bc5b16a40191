import { type CalendarDate, HOUR_MS, type Millis } from "../../values/time.ts";
import { addDays, weekdayOf, type ZoneCalendar } from "../../values/zone.ts";

/** When the summary of a week is due, in milliseconds after Monday begins: at 8 o'clock, or an hour off if the clocks change. */
const DUE_AFTER_MS = 8 * HOUR_MS;

/** Returns the Monday of the latest summary that is due. It covers the seven days before. */
export function lastSummaryMonday(now: Millis, zone: ZoneCalendar): CalendarDate {
  const today = zone.dateAt(now - DUE_AFTER_MS);
  return addDays(today, -weekdayOf(today));
}

/** Returns the first and the last day of the summary of a Monday. */
export const summaryDays = (
  monday: CalendarDate,
): { readonly from: CalendarDate; readonly to: CalendarDate } => ({
  from: addDays(monday, -7),
  to: addDays(monday, -1),
});
