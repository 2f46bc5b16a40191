import { HOUR_MS, type Millis } from "../../values/time.ts";

/**
 * How long a connected machine may be silent about its coverage, in milliseconds. Without calls it states it every half hour.
 * Source: docs/specification.md#coverage-in-the-cloud.
 */
export const COVERAGE_STALE_MS = HOUR_MS;

/** What is known of a machine's coverage: see `coverageSchema` of the wire. */
export type CoverageState = "current" | "stale" | "unknown";

/** When a machine last stated its coverage, and when it was last seen at all; null for never. */
export interface CoverageReport {
  readonly reportedAt: Millis | null;
  readonly lastSeenAt: Millis | null;
}

/** Returns what is known of a machine's coverage before an instant. */
export function findCoverageState({ reportedAt, lastSeenAt }: CoverageReport, to: Millis): CoverageState {
  if (reportedAt === null) return "unknown";
  const until = Math.min(to, lastSeenAt ?? reportedAt);
  return until - reportedAt > COVERAGE_STALE_MS ? "stale" : "current";
}
