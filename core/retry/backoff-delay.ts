import type { Millis } from "../time.ts";
import { RETRY_AFTER_CAP_MS } from "./retry-after.ts";

/** First window of the backoff, milliseconds. Decision: the contract names no start for the metadata worker; the supervisor's 1 s is used. */
export const BACKOFF_BASE_MS = 1_000;

/** Longest own backoff, milliseconds. Source: contract, "Limits": sync retry backoff cap 300 s. */
export const BACKOFF_CAP_MS = 300_000;

/** Longest delay that a timer of a JavaScript runtime keeps, milliseconds; a longer one fires at once. Source: decisions, "Daemon". */
export const TIMER_CAP_MS = 2 ** 31 - 1;

/** The window that doubles with each failure: `baseMs` for the first, never more than `capMs`. */
export function exponentialDelay(failures: number, baseMs: number, capMs: number): number {
  return Math.min(capMs, baseMs * 2 ** (Math.max(failures, 1) - 1));
}

/** Full jitter: anything from 0 to the window, by `random` in [0, 1). Spreads out clients that failed together. */
export function backoffDelay(
  failures: number,
  random: number,
  baseMs: number = BACKOFF_BASE_MS,
  capMs: number = BACKOFF_CAP_MS,
): number {
  return Math.floor(clampFraction(random) * exponentialDelay(failures, baseMs, capMs));
}

/** The delay before the next try: own backoff, and never before what the cloud asked for, which counts up to its own cap. */
export function retryDelay(failures: number, random: number, retryAfterMs: number | null): number {
  return Math.max(backoffDelay(failures, random), clampRetryAfter(retryAfterMs));
}

/** What the cloud asked for, in milliseconds, brought into 0..3,600 s; 0 where it asked for nothing. */
export function clampRetryAfter(retryAfterMs: number | null): number {
  return retryAfterMs !== null && retryAfterMs > 0 ? Math.min(retryAfterMs, RETRY_AFTER_CAP_MS) : 0;
}

/**
 * Milliseconds from `now` until `at`, 0 where that is past. Further ahead than `capMs`, the clock was set back since
 * `at` was computed, and the cap is waited, not the difference.
 */
export function remainingDelay(at: number, now: number, capMs: number): number {
  return Math.min(Math.max(at - now, 0), capMs);
}

/** What is left of the time that the cloud asked to be left alone; 0 where it asked for none. */
export function quietDelay({ notBefore }: { readonly notBefore: Millis | null }, now: Millis): number {
  return notBefore === null ? 0 : remainingDelay(notBefore, now, RETRY_AFTER_CAP_MS);
}

/** The delay before a worker's first tick after a start: what is left of the one that was set, else its backoff anew. */
export function delayAfterStart(
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
