const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const UNITS = [
  [DAY_MS, "d"],
  [HOUR_MS, "h"],
  [MINUTE_MS, "min"],
] as const;

/** Formats a span of time in its two largest units from days to minutes: `5 d 3 h`, `12 min`. A shorter span is `45 s`. */
export function formatSpan(ms: number): string {
  const largest = UNITS.findIndex(([unitMs]) => ms >= unitMs);
  if (largest === -1) return `${Math.max(0, Math.floor(ms / SECOND_MS))} s`;
  let rest = ms;
  const parts = UNITS.slice(largest, largest + 2).map(([unitMs, name]) => {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    return count === 0 ? "" : `${count} ${name}`;
  });
  return parts.filter((part) => part !== "").join(" ");
}
