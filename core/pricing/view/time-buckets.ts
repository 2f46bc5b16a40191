import { type CalendarDate, DAY_MS, HOUR_MS, MINUTE_MS, type Millis } from "../../values/time.ts";
import { addDays, daysBetween, monthOf, weekdayOf, type ZoneCalendar } from "../../values/zone.ts";
import type { UsageBucket } from "../../wire/usage.ts";

const QUARTER_MS = 15 * MINUTE_MS;

/** The most buckets of an answer. A query with more gets longer buckets. */
const MAX_BUCKETS = 1_000;

/** A half-open span of time. */
interface Span {
  readonly from: Millis;
  readonly to: Millis;
}

/** A bucket of a period, with its name on an axis. */
export interface TimeBucket extends Span {
  readonly label: string;
}

type TimeUnit = Exclude<UsageBucket, "none">;

/** The units by length, each with the shortest length that a bucket has. */
const UNITS: readonly (readonly [unit: TimeUnit, minMs: number])[] = [
  ["15m", QUARTER_MS],
  ["hour", HOUR_MS],
  ["day", 23 * HOUR_MS],
  ["week", 7 * DAY_MS - HOUR_MS],
  ["month", 28 * DAY_MS - HOUR_MS],
];

/**
 * Returns the unit of a period's buckets. `auto` is a quarter of an hour for one day, an hour up to 7 days, a day up to 120 days,
 * then a week. A unit with too many buckets is replaced by a longer one.
 */
export function unitFor(asked: UsageBucket | "auto", { from, to }: Span, zone: ZoneCalendar): UsageBucket {
  if (asked === "none") return "none";
  const days = daysBetween(zone.dateAt(from), zone.dateAt(to - 1)) + 1;
  const automatic = days <= 1 ? "15m" : days <= 7 ? "hour" : days <= 120 ? "day" : "week";
  const first = UNITS.findIndex(([unit]) => unit === (asked === "auto" ? automatic : asked));
  const found = UNITS.slice(first).find(([, minMs]) => (to - from) / minMs <= MAX_BUCKETS - 2);
  return found?.[0] ?? "month";
}

/** Cuts a period into buckets without gaps. The first and the last are cut where the period begins and ends. */
export function cutTime({ from, to }: Span, unit: TimeUnit, zone: ZoneCalendar): TimeBucket[] {
  const buckets: TimeBucket[] = [];
  for (let at = from; at < to; ) {
    const end = Math.min(Math.max(endOf(at, unit, zone), at + 1), to);
    buckets.push({ from: at, to: end, label: labelOf(at, unit, zone) });
    at = end;
  }
  return unit === "15m" || unit === "hour" ? nameRepeated(buckets, zone) : buckets;
}

/** Cuts a period into the buckets of coverage, which is counted by hour: those of `auto`, and hours for one day. */
export function cutCoverageTime(span: Span, zone: ZoneCalendar): TimeBucket[] {
  const unit = unitFor("auto", span, zone) as TimeUnit;
  return cutTime(span, unit === "15m" ? "hour" : unit, zone);
}

/** Returns where the bucket that contains the instant ends. */
function endOf(at: Millis, unit: TimeUnit, zone: ZoneCalendar): Millis {
  if (unit === "15m") return (Math.floor(at / QUARTER_MS) + 1) * QUARTER_MS;
  if (unit === "hour") {
    const local = at + zone.offsetAt(at);
    return at - (((local % HOUR_MS) + HOUR_MS) % HOUR_MS) + HOUR_MS;
  }
  const date = zone.dateAt(at);
  if (unit === "day") return zone.startOf(addDays(date, 1));
  return zone.startOf(unit === "week" ? addDays(date, 7 - weekdayOf(date)) : monthOf(date, 1));
}

function labelOf(at: Millis, unit: TimeUnit, zone: ZoneCalendar): string {
  if (unit === "15m" || unit === "hour") return formatClock(at, zone);
  const date = zone.dateAt(at);
  switch (unit) {
    case "day": {
      const hours = (zone.startOf(addDays(date, 1)) - zone.startOf(date)) / HOUR_MS;
      return hours === 24 ? date : `${date} (${hours} h)`;
    }
    case "week":
      return weekName(date);
    case "month":
      return date.slice(0, 7);
  }
}

/** Formats an instant as the zone's clock shows it: `2026-11-23 14:15`. */
const formatClock = (at: Millis, zone: ZoneCalendar): string =>
  new Date(at + zone.offsetAt(at)).toISOString().slice(0, 16).replace("T", " ");

/** Adds the offset to labels that occur twice because clocks went back. */
function nameRepeated(buckets: readonly TimeBucket[], zone: ZoneCalendar): TimeBucket[] {
  const counts = new Map<string, number>();
  for (const { label } of buckets) counts.set(label, (counts.get(label) ?? 0) + 1);
  return buckets.map((bucket) =>
    counts.get(bucket.label) === 1
      ? bucket
      : { ...bucket, label: `${bucket.label} ${formatOffset(zone.offsetAt(bucket.from))}` },
  );
}

function formatOffset(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / MINUTE_MS);
  const two = (value: number) => `${value}`.padStart(2, "0");
  return `${offsetMs < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** The ISO 8601 week of a date, `2026-W48`. It belongs to the year that its Thursday is in. */
function weekName(date: CalendarDate): string {
  const thursday = addDays(date, 3 - weekdayOf(date));
  const week = Math.floor(daysBetween(`${thursday.slice(0, 4)}-01-01`, thursday) / 7) + 1;
  return `${thursday.slice(0, 4)}-W${`${week}`.padStart(2, "0")}`;
}

/** Describes a period by its days: `2026-11-01 to 2026-11-23`. A day that is not over counts as one. */
export function describeDays({ from, to }: Span, zone: ZoneCalendar): string {
  const [first, last] = [zone.dateAt(from), zone.dateAt(to - 1)];
  return first === last ? first : `${first} to ${last}`;
}

/** Describes a period by its days, or to the minute if it does not consist of whole days. */
export function describeSpan(span: Span, zone: ZoneCalendar): string {
  const isMidnight = (at: Millis) => zone.startOf(zone.dateAt(at)) === at;
  if (isMidnight(span.from) && isMidnight(span.to)) return describeDays(span, zone);
  return `${formatClock(span.from, zone)} to ${formatClock(span.to, zone)}`;
}
