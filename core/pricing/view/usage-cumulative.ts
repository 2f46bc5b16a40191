import type { UsageAnswer } from "../../wire/usage.ts";
import { addToSums, emptySums, metricOf, parseSums, sumsJson } from "./usage-sums.ts";

/** The buckets of an answer and the series of its rows and of the compared period, each as sums since the period began. */
export type CumulativeUsage = Pick<UsageAnswer, "buckets" | "compared_series"> & {
  /** By row. */
  readonly series: readonly UsageAnswer["compared_series"][];
};

/** Adds up the buckets of an answer from the first to the last. Each last value is that of the whole period. */
export function accumulateUsage({
  buckets,
  rows,
  metric,
  compared,
  compared_series,
}: UsageAnswer): CumulativeUsage {
  const sums = emptySums();
  return {
    buckets: buckets.map((bucket) => {
      addToSums(sums, parseSums(bucket.totals));
      return { ...bucket, totals: sumsJson(sums) };
    }),
    series: rows.map(({ series, totals }) => accumulate(series, metricOf(parseSums(totals), metric))),
    compared_series: accumulate(
      compared_series,
      compared === null ? null : metricOf(parseSums(compared), metric),
    ),
  };
}

/** Adds up a series. If the whole is unknown, the sum is unknown from the first bucket on that has requests. */
function accumulate(series: readonly (string | null)[], whole: bigint | null): (string | null)[] {
  let sum = 0n;
  let isKnown = true;
  return series.map((value) => {
    if (value !== null) sum += BigInt(value);
    else if (whole === null) isKnown = false;
    return isKnown ? sum.toString() : null;
  });
}
