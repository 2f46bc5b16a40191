import { formatCsvLine } from "../core/values/text/format-csv-field.ts";
import { formatInstant } from "../core/wire/instant.ts";
import type { CoverageAnswer } from "./views/coverage.ts";

/**
 * Formats the calls of each part of a period as CSV (RFC 4180). How long no meter ran is in milliseconds, and empty if it is not known.
 */
export function coverageCsv({ buckets }: Pick<CoverageAnswer, "buckets">, tz: string): string {
  const rows = buckets.map(({ from, to, metered, seen, stoppedMs }) => [
    ...[formatInstant(from), formatInstant(to)],
    ...[metered, seen - metered, seen, stoppedMs, tz],
  ]);
  return [["from", "to", "metered", "missed", "seen", "stopped_ms", "tz"], ...rows]
    .map(formatCsvLine)
    .join("");
}

/** Converts the coverage of one machine to JSON, with the names of the answer of a cloud. */
export const coverageJson = ({ summary, buckets, gaps, stopped }: CoverageAnswer, tz: string) => ({
  tz,
  metered: summary.metered,
  seen: summary.seen,
  permille: summary.permille,
  missing: summary.missing,
  buckets: buckets.map(({ from, to, label, metered, seen, stoppedMs }) => ({
    ...{ from: formatInstant(from), to: formatInstant(to), label },
    ...{ metered, seen, stopped_ms: stoppedMs },
  })),
  counts: gaps.map(({ host, kind, call, count, lastSeenAt }) => ({
    ...{ host, kind, method: call?.method ?? null, path: call?.path ?? null },
    ...{ count, last_seen_at: formatInstant(lastSeenAt) },
  })),
  gaps: stopped.latest.map(({ from, to }) => ({ from: formatInstant(from), to: formatInstant(to) })),
});
