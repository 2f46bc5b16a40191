/** Returns the smallest of 2, 4, 6, 8, 10, 20, 40 … that is not below the value; `ifZero` for zero. Half of it is a whole number. */
export function ceilToStep(value: bigint, ifZero: bigint): bigint {
  if (value <= 0n) return ifZero;
  const unit = 10n ** BigInt(value.toString().length - 1);
  const steps = [1n, 2n, 4n, 6n, 8n, 10n].map((step) => step * unit);
  return steps.find((each) => each >= value && each % 2n === 0n) ?? 10n * unit;
}

/** Returns the highest value, or 0. */
export function highestOf(values: readonly bigint[]): bigint {
  let highest = 0n;
  for (const value of values) if (value > highest) highest = value;
  return highest;
}

/** The parts of a bar's height are whole ten-thousandths of the chart's height. */
const UNITS = 10_000n;

/** The lowest bar of anything above zero, in ten-thousandths, so that it stays visible. */
const MIN_UNITS = 60n;

/**
 * Divides a bar into the heights of its values, in percent of the chart. The heights add up exactly to that of the bar, which is
 * never 0 if a value is above 0.
 */
export function stackHeights(values: readonly bigint[], ceiling: bigint): number[] {
  const positive = values.map((value) => (value > 0n ? value : 0n));
  const sum = positive.reduce((total, value) => total + value, 0n);
  if (sum === 0n || ceiling <= 0n) return values.map(() => 0);
  const exact = (sum * UNITS) / ceiling;
  const height = exact > UNITS ? UNITS : exact < MIN_UNITS ? MIN_UNITS : exact;
  let below = 0n;
  let reached = 0n;
  return positive.map((value) => {
    below += value;
    const top = (below * height) / sum;
    const part = Number(top - reached) / 100;
    reached = top;
    return part;
  });
}

/** Formats a coordinate in percent with at most three decimals. */
export const percent = (value: number): string => `${Math.round(value * 1_000) / 1_000}%`;

/** Returns at most `count` of the labels at equal distances, the first and the last among them. */
export function pickLabels(labels: readonly string[], count: number): string[] {
  if (labels.length <= count) return [...labels];
  return Array.from(
    { length: count },
    (_, n) => labels[Math.round((n * (labels.length - 1)) / (count - 1))] ?? "",
  );
}
