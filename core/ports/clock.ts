import type { Millis } from "../values/time.ts";

/** Time and timers. `adapters/clock` has the system clock and a manual one for tests. */
export interface Clock {
  /** The current wall-clock time, which may jump in either direction. */
  now(): Millis;
  /**
   * Calls `run` once, after `delayMs` (not before the caller's current turn ends), unaffected by jumps of the wall
   * clock. Returns a function that cancels it; cancelling twice, or after it fired, does nothing.
   */
  setTimer(delayMs: number, run: () => void): () => void;
}
