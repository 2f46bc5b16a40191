import type { Millis } from "../../core/values/time.ts";

/** Limits the request rate per client. Each kind of client has its own limiter. */
export interface RateLimiter {
  /** Counts one request of a client. Returns null if it is allowed, else the seconds until the next one is. */
  take(client: string, now: Millis): number | null;
}

/** How many clients are remembered before idle ones are removed. */
const SWEEP_AT = 10_000;

/**
 * Creates a limiter of `perMinute` requests per minute. All of them may come at once, then evenly spaced (the generic cell
 * rate algorithm, one number per client). The state is in memory: each instance of the server allows the full rate.
 */
export function createRateLimiter(perMinute: number): RateLimiter {
  const spacingMs = 60_000 / perMinute;
  /** Each client's theoretical arrival time. */
  const arrivalTimes = new Map<string, Millis>();
  let sweepAt = SWEEP_AT;
  return {
    take(client, now) {
      // A clock that was set back must not block a client for longer than a full minute.
      const known = Math.min(arrivalTimes.get(client) ?? now, now + 60_000);
      const next = Math.max(known, now) + spacingMs;
      const waitMs = next - now - 60_000;
      // Tolerates rounding errors of floating-point sums.
      if (waitMs > 0.001) return Math.max(1, Math.ceil(waitMs / 1_000));
      arrivalTimes.set(client, next);
      if (arrivalTimes.size > sweepAt) {
        for (const [other, at] of arrivalTimes) if (at <= now) arrivalTimes.delete(other);
        sweepAt = Math.max(SWEEP_AT, arrivalTimes.size * 2);
      }
      return null;
    },
  };
}
