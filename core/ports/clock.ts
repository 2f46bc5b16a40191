import type { Millis } from "../time.ts";

/** Time and timers. The system's and a manual one are in `adapters/clock`. */
export interface Clock {
  /** The present. May jump in either direction: it is the wall clock. */
  now(): Millis;
  /**
   * Calls `run` once, after `delayMs` (not before the caller's present turn ends), however the wall clock jumps.
   * Returns what cancels it; cancelling twice, or after it fired, does nothing.
   */
  setTimer(delayMs: number, run: () => void): () => void;
}
