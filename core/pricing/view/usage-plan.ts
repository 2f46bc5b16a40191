import type { CalendarDate, Millis } from "../../values/time.ts";
import { addDays, daysBetween, monthOf, type ZoneCalendar } from "../../values/zone.ts";
import { parseCalendarDate, parseInstant } from "../../wire/instant.ts";
import type { UsageBucket, UsageComparison, UsagePeriodName } from "../../wire/usage.ts";
import { cutTime, describeDays, describeSpan, type TimeBucket, unitFor } from "./time-buckets.ts";
import type { UsageQuery } from "./usage-query.ts";

/** The longest period, in days. A host sums it while it does other work. */
const MAX_USAGE_DAYS = 400;

/** A half-open period with its words. */
export interface UsageSpan {
  readonly from: Millis;
  readonly to: Millis;
  readonly label: string;
}

/** A query whose period and buckets are known. */
export interface UsagePlan {
  readonly query: UsageQuery;
  readonly zone: ZoneCalendar;
  readonly period: UsageSpan;
  readonly compared: UsageSpan | null;
  readonly unit: UsageBucket;
  /** The buckets of the period, without gaps. Empty if the query has none. */
  readonly buckets: readonly TimeBucket[];
  /** For each bucket the span of the compared period that belongs to it, without gaps. Empty without a comparison. */
  readonly comparedBuckets: readonly TimeBucket[];
  /** The requested beginning, if the floor moved it. */
  readonly clampedFrom: Millis | null;
}

/** A plan, or the problem with the period. */
export type UsagePlanResult =
  | { readonly ok: true; readonly plan: UsagePlan }
  | { readonly ok: false; readonly code: string; readonly detail: string };

/** What a plan depends on besides the query. */
export interface UsagePlanFacts {
  readonly now: Millis;
  /** The zone of the query, or of the host. */
  readonly zone: ZoneCalendar;
  /** The earliest time that may be read. A period that begins earlier is cut; a comparison is left out. */
  readonly floor?: Millis;
}

/** Works out what a query reads: the period, the compared period, and their buckets. */
export function planUsage(query: UsageQuery, { now, zone, floor }: UsagePlanFacts): UsagePlanResult {
  const bounds = readBounds(query, now, zone);
  if ("code" in bounds) return { ok: false, ...bounds };
  const isClamped = floor !== undefined && bounds.from < floor;
  const from = isClamped ? Math.min(floor, bounds.to) : bounds.from;
  const { to } = bounds;
  const shiftDays = comparisonShift(query.compare, countDays(from, to, zone));
  const compared = shiftDays === null || isClamped ? null : shiftSpan({ from, to }, shiftDays, zone);
  const isReadable = compared !== null && (floor === undefined || compared.from >= floor);
  const unit = unitFor(query.bucket, { from, to }, zone);
  const buckets = unit === "none" ? [] : cutTime({ from, to }, unit, zone);
  const name = typeof query.period === "string" ? PERIOD_NAMES[query.period] : null;
  const describe = name === null ? describeSpan : describeDays;
  const words = describe({ from, to }, zone);
  return {
    ok: true,
    plan: {
      query,
      zone,
      period: { from, to, label: name === null ? words : `${name}: ${words}` },
      compared: isReadable ? { ...compared, label: describe(compared, zone) } : null,
      unit,
      buckets,
      comparedBuckets:
        isReadable && shiftDays !== null
          ? buckets.map((bucket) => ({ ...bucket, ...shiftSpan(bucket, shiftDays, zone) }))
          : [],
      clampedFrom: isClamped ? bounds.from : null,
    },
  };
}

/** The names of the periods. */
export const PERIOD_NAMES: Readonly<Record<UsagePeriodName, string>> = {
  today: "Today",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "90d": "Last 90 days",
  mtd: "This month",
  month: "Last month",
  "12m": "Last 12 months",
};

/** The bounds of a period. */
export interface UsageBounds {
  readonly from: Millis;
  readonly to: Millis;
}

/** Returns the bounds of a named period on a day. `to` is null if the period ends now. */
export function datesOf(
  period: UsagePeriodName,
  today: CalendarDate,
): { from: CalendarDate; to: CalendarDate | null } {
  switch (period) {
    case "today":
      return { from: today, to: null };
    case "7d":
      return { from: addDays(today, -6), to: null };
    case "30d":
      return { from: addDays(today, -29), to: null };
    case "90d":
      return { from: addDays(today, -89), to: null };
    case "mtd":
      return { from: monthOf(today), to: null };
    case "month":
      return { from: monthOf(today, -1), to: monthOf(today) };
    case "12m":
      return { from: monthOf(today, -11), to: null };
  }
}

/** Returns the bounds of a query's period, or the problem with it. */
export function readBounds(
  { period }: Pick<UsageQuery, "period">,
  now: Millis,
  zone: ZoneCalendar,
): UsageBounds | { code: string; detail: string } {
  // Includes the current millisecond.
  const end = now + 1;
  if (typeof period === "string") {
    const { from, to } = datesOf(period, zone.dateAt(now));
    return { from: zone.startOf(from), to: to === null ? end : zone.startOf(to) };
  }
  const parse = (text: string) =>
    parseCalendarDate(text) === null ? parseInstant(text) : zone.startOf(text);
  const from = parse(period.from);
  const to = period.to === null ? end : parse(period.to);
  if (from === null || to === null) {
    const key = from === null ? "from" : "to";
    return { code: "period_malformed", detail: `${key} must be an ISO 8601 date or date-time` };
  }
  if (from < 0 || to > MAX_TIME) {
    const key = from < 0 ? "from" : "to";
    return { code: "period_malformed", detail: `${key} must be a time between the years 1970 and 9990` };
  }
  if (from >= to) return { code: "period_reversed", detail: "from must be before to" };
  if (countDays(from, to, zone) > MAX_USAGE_DAYS)
    return { code: "period_too_long", detail: `a period can be at most ${MAX_USAGE_DAYS} days long` };
  return { from, to };
}

/** Calendars count some days beyond a period, up to the year 9999. */
const MAX_TIME: Millis = Date.UTC(9990, 0, 1);

/** Returns how many days the period touches. */
const countDays = (from: Millis, to: Millis, zone: ZoneCalendar): number =>
  daysBetween(zone.dateAt(from), zone.dateAt(to - 1)) + 1;

/** Returns by how many days a period is moved: whole weeks, so that weekdays match, and at least its own length. */
function comparisonShift(compare: UsageComparison, days: number): number | null {
  if (compare === "none") return null;
  const weeks = Math.ceil(days / 7);
  return 7 * (compare === "year" ? Math.max(52, weeks) : weeks);
}

/** Moves a span back by days, at the same time since the beginning of the day. The moved spans of a partition are one too. */
function shiftSpan({ from, to }: UsageBounds, days: number, zone: ZoneCalendar): UsageBounds {
  const shift = (at: Millis) => {
    const date = zone.dateAt(at);
    const target = addDays(date, -days);
    // A day of 25 hours is moved to one of 24.
    return Math.min(zone.startOf(target) + at - zone.startOf(date), zone.startOf(addDays(target, 1)));
  };
  return { from: shift(from), to: shift(to) };
}
