import type { CalendarDate } from "../../values/time.ts";
import { addDays, daysBetween, monthOf, weekdayOf } from "../../values/zone.ts";

/** How many whole days before today an estimate is made from: eight weeks. */
export const FORECAST_DAYS = 56;

/** With fewer days there is no estimate. */
const MIN_FORECAST_DAYS = 14;

/** How often the weeks are resampled, and how many of the lowest and highest results are left out of the range. */
const SAMPLES = 400;
const LEFT_OUT = SAMPLES / 20;

/** What an estimate is made from. */
export interface ForecastFacts {
  readonly today: CalendarDate;
  /** The value of each day before today, from the first day with data on; at least those of this month. A missing day is 0. */
  readonly days: ReadonlyMap<CalendarDate, bigint>;
  /** The value of today so far. */
  readonly todaySoFar: bigint;
}

/** An estimate of this month. */
export interface Forecast {
  readonly toDate: bigint;
  /** How many whole days the estimate is made from. */
  readonly days: number;
  /** Null with fewer than 14 days. `low` and `high` enclose nine tenths of the resampled months. */
  readonly estimate: { readonly expected: bigint; readonly low: bigint; readonly high: bigint } | null;
  /** What is expected of each remaining day: of today what is still to come. With `toDate` it is `expected`. Empty without an estimate. */
  readonly remaining: readonly ForecastDay[];
}

/** What is expected of a day. */
export interface ForecastDay {
  readonly date: CalendarDate;
  readonly value: bigint;
}

/**
 * Estimates this month: what was used so far, and for each remaining day the mean of its weekday in the last eight weeks. The range
 * comes from months whose remaining weeks are taken from these weeks at random; the same facts give the same range.
 */
export function forecastMonth({ today, days, todaySoFar }: ForecastFacts): Forecast {
  const first = monthOf(today);
  const passed = Array.from(
    { length: daysBetween(first, today) },
    (_, at) => days.get(addDays(first, at)) ?? 0n,
  );
  const toDate = passed.reduce((sum, value) => sum + value, todaySoFar);
  const earliest = [...days.keys()].sort()[0] ?? today;
  const known = Math.min(daysBetween(earliest, today), FORECAST_DAYS);
  if (known < MIN_FORECAST_DAYS) return { toDate, days: known, estimate: null, remaining: [] };
  const weeks = Math.floor(known / 7);
  /** The value of a weekday in the n-th week before today. */
  const valueIn = (date: CalendarDate, week: number) => {
    const back = (weekdayOf(today) - weekdayOf(date) + 7) % 7 || 7;
    return days.get(addDays(today, -back - 7 * week)) ?? 0n;
  };
  const remaining = Array.from({ length: daysBetween(today, monthOf(today, 1)) }, (_, at) =>
    addDays(today, at),
  );
  // Each sample takes its values from here, since finding them by date takes ten times as long.
  const values = remaining.map((date) => Array.from({ length: weeks }, (_, week) => valueIn(date, week)));
  /** What remains of a day: what was already used today is no part of it. */
  const restOf = (value: bigint, at: number) =>
    at > 0 ? value : value > todaySoFar ? value - todaySoFar : 0n;
  const pick = createPicker(weeks);
  const samples = Array.from({ length: SAMPLES }, () => {
    const picked = Array.from({ length: Math.ceil(remaining.length / 7) }, pick);
    return values.reduce((sum, ofDay, at) => sum + restOf(ofDay[picked[Math.floor(at / 7)]!]!, at), toDate);
  }).sort(byValue);
  const ahead = remaining.map((date, at): ForecastDay => {
    const mean = values[at]!.reduce((sum, value) => sum + value, 0n) / BigInt(weeks);
    return { date, value: restOf(mean, at) };
  });
  const expected = ahead.reduce((sum, { value }) => sum + value, toDate);
  const range = [samples[LEFT_OUT]!, expected, samples[SAMPLES - 1 - LEFT_OUT]!].sort(byValue);
  return { toDate, days: known, estimate: { expected, low: range[0]!, high: range[2]! }, remaining: ahead };
}

const byValue = (one: bigint, other: bigint): number => (one < other ? -1 : one > other ? 1 : 0);

/** Returns a function whose results are equally distributed below `count`, the same at every start (xorshift). */
function createPicker(count: number): () => number {
  let state = 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % count;
  };
}
