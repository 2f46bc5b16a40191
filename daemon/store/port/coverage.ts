import type { ValueFilter } from "../../../core/metering/coverage/coverage-filter.ts";
import type {
  CoverageGap,
  CoverageKind,
  CoverageTotal,
  UnmeteredCall,
} from "../../../core/metering/coverage/coverage-kinds.ts";
import type { RunningTime } from "../../../core/metering/coverage/running-times.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { Period } from "./values.ts";

/** An addition to a counter. Only `unfinished` may be decreased, by a negative count. */
export interface CoverageCount extends CoverageTotal {
  at: Millis;
  /** The call that is counted, to name it. Stored for the last 10,000 different calls at most. */
  call?: UnmeteredCall;
}

/** A coverage counter of an hour, summed over all hosts. */
export interface HourlyCoverage {
  /** The start of the hour, a whole hour in UTC. */
  readonly hour: Millis;
  readonly kind: CoverageKind;
  readonly count: number;
}

/** A coverage counter of a day or a quarter of an hour, summed over all hosts. */
export interface TimedCoverage {
  /** When it begins. */
  readonly at: Millis;
  readonly kind: CoverageKind;
  readonly count: number;
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
  /**
   * Returns the counters of these kinds with the calls that were counted, latest first, and within a quarter of an hour the most
   * frequent first. What was counted without a call, or whose call is no longer stored, has a row without one.
   */
  readGaps(kinds: readonly CoverageKind[], period: Period): CoverageGap[];
  /**
   * Returns the counters that begin in the period, summed over the hosts of a filter, or over all: of a whole day of the machine's zone or of a quarter of an
   * hour, in order. They add up to those of `read()`.
   */
  readTimes(period: Period, hosts?: ValueFilter | null): TimedCoverage[];
  /** Returns the sums of the first `maxHours` hours that have counters and begin at `from` or later, in order. */
  readHours(from: Millis, maxHours: number): HourlyCoverage[];
  /** Stores a run of the daemon. Replaces the one that began at the same time. */
  saveRun(run: RunningTime): void;
  /** Returns the daemon's runs that overlap the period, with the ones before and after it, the earliest first. */
  readRuns(period: Period): RunningTime[];
}
