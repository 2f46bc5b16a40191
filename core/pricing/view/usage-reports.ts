import { addDays, daysBetween } from "../../values/zone.ts";
import type { UsageDimension, UsageForecast, UsageMetric, UsageValues } from "../../wire/usage.ts";
import { FORECAST_DAYS, forecastMonth } from "./forecast.ts";
import type { TimeBucket } from "./time-buckets.ts";
import { labelOfKey, type UsageAnswerOptions, type UsageData } from "./usage-answer.ts";
import { planUsage, type UsagePlan, type UsagePlanFacts, type UsagePlanResult } from "./usage-plan.ts";
import type { UsageQuery } from "./usage-query.ts";
import { metricOf, sumOf } from "./usage-sums.ts";

/** How many values of a dimension are listed. */
export const MAX_LISTED_VALUES = 100;

/** Returns the query whose data has the values of a dimension, with the same period and filters. */
export const valuesQuery = (query: UsageQuery, dimension: UsageDimension): UsageQuery => ({
  ...query,
  by: dimension,
  thenBy: null,
  compare: "none",
  bucket: "none",
});

/** Lists the values of a dimension that contain a text, most requests first. */
export function listValues(
  dimension: UsageDimension,
  { groups }: Pick<UsageData, "groups">,
  text: string,
  { nameOf = () => null }: Pick<UsageAnswerOptions, "nameOf"> = {},
): UsageValues {
  const found = [...Map.groupBy(groups, ({ by }) => by)]
    .map(([key, own]) => ({
      value: key,
      label: labelOfKey(dimension, key, nameOf),
      requests: own.reduce((sum, { sums }) => sum + sums.requests, 0),
    }))
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .sort((one, other) => other.requests - one.requests || (one.label < other.label ? -1 : 1));
  return { dimension, items: found.slice(0, MAX_LISTED_VALUES), more: found.length > MAX_LISTED_VALUES };
}

/**
 * Plans what an estimate of this month is made from: each day of the last eight weeks, which are longer than a month. A day that
 * begins before the floor is left out.
 */
export function planForecast(query: UsageQuery, { now, zone, floor }: UsagePlanFacts): UsagePlanResult {
  const today = zone.dateAt(now);
  const back = floor === undefined ? FORECAST_DAYS : daysBetween(zone.dateAt(floor - 1), today) - 1;
  const from = addDays(today, -Math.max(Math.min(back, FORECAST_DAYS), 0));
  return planUsage(
    { ...query, period: { from, to: null }, compare: "none", bucket: "day", by: null, thenBy: null },
    { now, zone },
  );
}

/** A metric by time, over all dimensions. */
export interface UsageSeries {
  readonly tz: string;
  readonly metric: UsageMetric;
  readonly buckets: readonly (TimeBucket & {
    readonly requests: number;
    readonly value: bigint;
    /** For how long no meter ran, in milliseconds; null if it is not known. */
    readonly stoppedMs: number | null;
  })[];
}

/** Turns the buckets that a host has read into the series of the plan's metric. */
export function answerSeries(
  { query, zone, buckets }: UsagePlan,
  { buckets: groups, stoppedMs = null }: Pick<UsageData, "buckets" | "stoppedMs">,
): UsageSeries {
  const byBucket = Map.groupBy(groups, ({ bucket }) => bucket);
  return {
    tz: zone.name,
    metric: query.metric,
    buckets: buckets.map((bucket, at) => {
      const sums = sumOf((byBucket.get(at) ?? []).map((each) => each.sums));
      const value = metricOf(sums, query.metric) ?? 0n;
      return { ...bucket, requests: sums.requests, value, stoppedMs: stoppedMs?.[at] ?? null };
    }),
  };
}

/** Turns what a host has read for `planForecast()` into the estimate. */
export function answerForecast(
  { query, zone, buckets }: UsagePlan,
  data: Pick<UsageData, "buckets">,
): UsageForecast {
  const byBucket = Map.groupBy(data.buckets, ({ bucket }) => bucket);
  const values = buckets.map(({ from }, at) => {
    const sums = sumOf((byBucket.get(at) ?? []).map((each) => each.sums));
    return { date: zone.dateAt(from), sums, value: metricOf(sums, query.metric) ?? 0n };
  });
  // The period ends now, so that it has at least today.
  const today = values.at(-1)!;
  const first = values.findIndex(({ sums }) => sums.requests > 0);
  const known = first === -1 ? [] : values.slice(first, -1);
  const forecast = forecastMonth({
    today: today.date,
    days: new Map(known.map(({ date, value }) => [date, value])),
    todaySoFar: today.value,
  });
  const { estimate } = forecast;
  return {
    tz: zone.name,
    month: today.date.slice(0, 7),
    metric: query.metric,
    to_date: forecast.toDate.toString(),
    estimate:
      estimate === null
        ? null
        : {
            expected: estimate.expected.toString(),
            low: estimate.low.toString(),
            high: estimate.high.toString(),
          },
    days: forecast.days,
    today: today.value.toString(),
    remaining: forecast.remaining.map(({ date, value }) => ({ date, value: value.toString() })),
  };
}
