import type { Millis } from "../../values/time.ts";
import { RETRY_AFTER_CAP_MS } from "./retry-after.ts";

/** First window of the backoff, milliseconds. Decision: the supervisor's 1 s, since none is specified for the metadata worker. */
export const BACKOFF_BASE_MS = 1_000;

/** Longest backoff without `Retry-After`, milliseconds. Source: docs/specification.md#limits: sync retry backoff cap 300 s. */
export const BACKOFF_CAP_MS = 300_000;

/** Longest delay of a timer in a JavaScript runtime, milliseconds. A longer one fires at once. Source: docs/specification.md#metadata-sync. */
export const TIMER_CAP_MS = 2 ** 31 - 1;

/** Returns a window that doubles with each failure: `baseMs` for the first, at most `capMs`. */
export function exponentialDelay(failures: number, baseMs: number, capMs: number): number {
  return Math.min(capMs, baseMs * 2 ** (Math.max(failures, 1) - 1));
}

/** Returns a delay with full jitter: from 0 to the window, by `random` in [0, 1). This spreads out clients that failed together. */
export function backoffDelay(
  failures: number,
  random: number,
  baseMs: number = BACKOFF_BASE_MS,
  capMs: number = BACKOFF_CAP_MS,
): number {
  return Math.floor(clampFraction(random) * exponentialDelay(failures, baseMs, capMs));
}

/** Returns the delay before the next attempt: the backoff, or `Retry-After` up to its cap if that is longer. */
export function retryDelay(failures: number, random: number, retryAfterMs: number | null): number {
  return Math.max(backoffDelay(failures, random), clampRetryAfter(retryAfterMs));
}

/** Clamps a `Retry-After` in milliseconds to 0..3,600 s; 0 without one. */
export function clampRetryAfter(retryAfterMs: number | null): number {
  return retryAfterMs !== null && retryAfterMs > 0 ? Math.min(retryAfterMs, RETRY_AFTER_CAP_MS) : 0;
}

/**
 * Returns the milliseconds from `now` until `at`; 0 if that is past. If `at` is more than `capMs` ahead, the clock was set
 * back after `at` was computed, and the result is `capMs`.
 */
export function remainingDelay(at: number, now: number, capMs: number): number {
  return Math.min(Math.max(at - now, 0), capMs);
}

/** Returns the rest of a `Retry-After` in milliseconds; 0 if there is none. */
export function remainingRetryAfter(
  { notBefore }: { readonly notBefore: Millis | null },
  now: Millis,
): number {
  return notBefore === null ? 0 : remainingDelay(notBefore, now, RETRY_AFTER_CAP_MS);
}

/** Returns the delay before a worker's first tick after a start: the rest of the scheduled delay, or else a new backoff. */
export function firstTickDelay(
  state: { readonly nextTickAt: Millis | null; readonly consecutiveFailures: number },
  random: number,
  now: Millis,
): number {
  const { nextTickAt, consecutiveFailures } = state;
  if (nextTickAt !== null) return remainingDelay(nextTickAt, now, RETRY_AFTER_CAP_MS);
  return consecutiveFailures > 0 ? retryDelay(consecutiveFailures, random, null) : 0;
}

function clampFraction(random: number): number {
  return random >= 0 && random <= 1 ? random : 1;
}
