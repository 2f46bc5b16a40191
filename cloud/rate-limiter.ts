import type { Millis } from "../core/time.ts";

/** Counts what somebody asks for, one limiter for each kind of asker. */
export interface RateLimiter {
  /** Counts one request; null where it may go on, else the seconds after which the next one may. */
  take(asker: string, now: Millis): number | null;
}

/** Askers that are remembered before those who have nothing on their account are forgotten. */
const SWEEP_AT = 10_000;

/**
 * So many requests a minute, all of which may come at once, then evenly (the generic cell rate algorithm: one number for
 * each asker). In this process's memory: several instances each allow as much.
 */
export function createRateLimiter(perMinute: number): RateLimiter {
  const spacingMs = 60_000 / perMinute;
  /** When each asker's account is even again. */
  const evenAt = new Map<string, Millis>();
  let sweepAt = SWEEP_AT;
  return {
    take(asker, now) {
      // A clock that was set back must not lock anybody out for longer than a full account does.
      const known = Math.min(evenAt.get(asker) ?? now, now + 60_000);
      const next = Math.max(known, now) + spacingMs;
      const waitMs = next - now - 60_000;
      // Sums of fractions: a thousandth of a millisecond is no debt.
      if (waitMs > 0.001) return Math.max(1, Math.ceil(waitMs / 1_000));
      evenAt.set(asker, next);
      if (evenAt.size > sweepAt) {
        for (const [other, at] of evenAt) if (at <= now) evenAt.delete(other);
        sweepAt = Math.max(SWEEP_AT, evenAt.size * 2);
      }
      return null;
    },
  };
}
