/** A figure at a time, in seconds after the start. */
export interface Point {
  readonly seconds: number;
  readonly value: number;
}

/** The ends of a line through points. */
export interface Trend {
  readonly first: number;
  readonly last: number;
}

/** Fits a line through points by least squares, so that a single high or low point at an end matters little. Needs points at two times or more. */
export function fitTrend(points: readonly Point[]): Trend {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const times = points.map(({ seconds }) => seconds);
  const [atTime, atValue] = [mean(times), mean(points.map(({ value }) => value))];
  const covariance = mean(points.map(({ seconds, value }) => (seconds - atTime) * (value - atValue)));
  const slope = covariance / mean(times.map((seconds) => (seconds - atTime) ** 2));
  const valueAt = (seconds: number) => atValue + slope * (seconds - atTime);
  return { first: valueAt(Math.min(...times)), last: valueAt(Math.max(...times)) };
}
