import type { CoverageTotal } from "../../../core/metering/coverage/coverage-kinds.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { Period } from "./values.ts";

/** An addition to a counter. Only `unfinished` may be decreased, by a negative count. */
export interface CoverageCount extends CoverageTotal {
  at: Millis;
}

/** The coverage counters, one per host, kind and quarter of an hour. */
export interface CoverageStore {
  /** Adds to the counters in one transaction. Not idempotent. */
  add(counts: readonly CoverageCount[]): void;
  /**
   * Returns sums over the quarters of an hour that begin in the period, ordered by host and kind. Sums of zero are left
   * out.
   */
  read(period: Period): CoverageTotal[];
}
