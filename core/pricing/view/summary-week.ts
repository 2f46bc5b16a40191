import { type CalendarDate, HOUR_MS, type Millis } from "../../values/time.ts";
import { addDays, weekdayOf, type ZoneCalendar } from "../../values/zone.ts";

/** When the summary of a week is due: on Monday at about 8, from the beginning of the day, milliseconds. */
const DUE_AFTER_MS = 8 * HOUR_MS;

/** Returns the Monday on which the latest due summary ends: that of the seven days before it. */
export function lastSummaryMonday(now: Millis, zone: ZoneCalendar): CalendarDate {
  const today = zone.dateAt(now - DUE_AFTER_MS);
  return addDays(today, -weekdayOf(today));
}

/** Returns the first and the last day of the summary that ends on a Monday. */
export const summaryDays = (
  monday: CalendarDate,
): { readonly from: CalendarDate; readonly to: CalendarDate } => ({
  from: addDays(monday, -7),
  to: addDays(monday, -1),
});
