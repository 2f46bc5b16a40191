import { DAY_MS, HOUR_MS, MINUTE_MS, type Millis } from "../../core/values/time.ts";
import { dayOf } from "./days.ts";
import type { TimeUnit } from "./port/reports.ts";
import type { DayZone } from "./port/values.ts";

/** A half-open period with its name: `2026-11-23T06:00+01:00`, `2026-11-23`, `2026-W48` (ISO 8601, from Monday) or `2026-11`. */
export interface TimeBucket {
  key: string;
  from: Millis;
  to: Millis;
}

/** Returns the period that contains the instant. */
export function bucketOf(at: Millis, unit: TimeUnit, zone: DayZone): TimeBucket {
  if (unit === "hour") return hourOf(at, zone);
  const day = dayOf(at, zone);
  if (unit === "day") return { key: day.date, from: day.from, to: day.to };
  const [year = 0, month = 0, date = 0] = day.date.split("-").map(Number);
  const midnight = (y: number, monthIndex: number, d: number) =>
    zone === "utc" ? Date.UTC(y, monthIndex, d) : new Date(y, monthIndex, d).getTime();
  if (unit === "month")
    return {
      key: day.date.slice(0, 7),
      from: midnight(year, month - 1, 1),
      to: midnight(year, month, 1),
    };
  const monday = date - ((new Date(Date.UTC(year, month - 1, date)).getUTCDay() + 6) % 7);
  return {
    key: weekKey(year, month - 1, monday),
    from: midnight(year, month - 1, monday),
    to: midnight(year, month - 1, monday + 7),
  };
}

/** Not by setting the minutes of a local date, which would move the second of two equal hours to the first. */
function hourOf(at: Millis, zone: DayZone): TimeBucket {
  if (zone === "utc") {
    const from = Math.floor(at / HOUR_MS) * HOUR_MS;
    return { key: `${new Date(from).toISOString().slice(0, 16)}Z`, from, to: from + HOUR_MS };
  }
  const local = new Date(at);
  const from = at - (local.getMinutes() * 60 + local.getSeconds()) * 1_000 - local.getMilliseconds();
  const offsetMinutes = -local.getTimezoneOffset();
  const clock = new Date(from + offsetMinutes * MINUTE_MS).toISOString().slice(0, 16);
  return { key: `${clock}${formatOffset(offsetMinutes)}`, from, to: from + HOUR_MS };
}

function formatOffset(minutes: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(size / 60)}:${two(size % 60)}`;
}

/** The week belongs to the year that its Thursday is in. */
function weekKey(year: number, monthIndex: number, monday: number): string {
  const thursday = new Date(Date.UTC(year, monthIndex, monday + 3));
  const weekYear = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(weekYear, 0, 1)) / (7 * DAY_MS)) + 1;
  return `${weekYear}-W${String(week).padStart(2, "0")}`;
}
