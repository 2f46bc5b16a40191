import type { Millis } from "../../../core/values/time.ts";

/** Sums of requests by quarter of an hour and by day, from which reports are read. Reports are exact with and without them. */
export interface RollupStore {
  /**
   * Does the next piece of work that no transaction of a request does, in a few milliseconds: adds stored requests that are
   * missing, or sums up a day that has ended. Returns whether more work is left. Idempotent; a killed process continues where it
   * stopped. Only the daemon calls it: while a daemon of an older version stores requests, rollups must not exist.
   */
  buildSome(now: Millis): boolean;
}
