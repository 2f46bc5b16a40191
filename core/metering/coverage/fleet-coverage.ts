import { HOUR_MS, type Millis } from "../../values/time.ts";

/**
 * How old the last coverage report of a connected machine may be, in milliseconds. A machine without calls reports every half hour.
 * Source: docs/specification.md#coverage-in-the-cloud.
 */
export const COVERAGE_STALE_MS = HOUR_MS;

/** What is known about a machine's coverage. `coverageSchema` in `core/wire` defines the values. */
export type CoverageState = "current" | "stale" | "unknown";

/** When a machine last reported its coverage, and when it was last seen. Null: never. */
export interface CoverageReport {
  readonly reportedAt: Millis | null;
  readonly lastSeenAt: Millis | null;
}

/** Returns what is known about a machine's coverage up to an instant. */
export function findCoverageState({ reportedAt, lastSeenAt }: CoverageReport, to: Millis): CoverageState {
  if (reportedAt === null) return "unknown";
  const until = Math.min(to, lastSeenAt ?? reportedAt);
  return until - reportedAt > COVERAGE_STALE_MS ? "stale" : "current";
}
