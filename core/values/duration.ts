const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a duration such as `6h`, `90m` or `1h30m` into milliseconds; null for anything else, including a bare number. */
export function parseDuration(text: string): number | null {
  if (!/^(\d{1,6}[smhd])+$/.test(text)) return null;
  let totalMs = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([smhd])/g)) {
    totalMs += Number(count) * unitMs[unit as keyof typeof unitMs];
  }
  return totalMs;
}
