/**
 * When to try again. The backoff doubles from 1 s to its cap of 300 s and is spread by full jitter; the random number
 * is the caller's, so that the same input gives the same delay. A `Retry-After` of the cloud is read in both forms
 * and honoured up to 3,600 s.
 *
 * ```ts
 * import { parseRetryAfter, retryDelay } from "./mod.ts";
 *
 * const retryAfterMs = parseRetryAfter("120", Date.UTC(2026, 0, 1));
 * retryDelay(3, 0.5, retryAfterMs); // 120000: the own backoff of 2,000 ms is shorter
 * retryDelay(3, 0.5, null); // 2000: half of the third window
 * ```
 *
 * @module
 */
export {
  BACKOFF_BASE_MS,
  BACKOFF_CAP_MS,
  backoffDelay,
  clampRetryAfter,
  delayAfterStart,
  exponentialDelay,
  quietDelay,
  remainingDelay,
  retryDelay,
  TIMER_CAP_MS,
} from "./backoff-delay.ts";
export {
  type CloudAnswer,
  describeAnswer,
  type HttpAnswer,
  retryAfterOf,
  type TransportAnswer,
  type TransportReason,
} from "./cloud-answer.ts";
export { parseRetryAfter, RETRY_AFTER_CAP_MS } from "./retry-after.ts";
