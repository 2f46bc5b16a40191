/** Formats a figure with three digits, or all digits before the point, and its unit. */
export function formatFigure(value: number, unit: string): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const text = value.toLocaleString("en-US", {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  });
  return unit === "" ? text : `${text} ${unit}`;
}
