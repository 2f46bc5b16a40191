import type { Millis } from "../../core/values/time.ts";
import type { LimitStates } from "./limit-states.ts";

/** Limits the request rate per client. Each kind of client has its own limiter. */
export interface RateLimiter {
  /** Counts one request of a client. Resolves to null if it is allowed, else to the seconds until the next one is. */
  take(client: string, now: Millis): Promise<number | null>;
}

/** How many clients are remembered before idle ones are removed. */
const SWEEP_AT = 10_000;

const MINUTE_MS = 60_000;

/** A process reports its requests to the shared state after this share of a minute's requests. */
const BOOKED_SHARE = 0.1;

/** What a process knows about a client. */
interface Pace {
  /** The client's theoretical arrival time. */
  arrivesAt: Millis;
  /** Requests that the shared state does not contain. */
  unbooked: number;
}

/**
 * Creates a limiter of `perMinute` requests per minute. All of them may come at once, then evenly spaced (the generic cell
 * rate algorithm, one number per client).
 *
 * Without `shared`, the state is in memory. With it, several processes share one rate: each counts in memory and reports after every
 * tenth of a minute's requests, so a client can exceed the rate by at most that many requests per process, and only once.
 */
export function createRateLimiter(perMinute: number, shared: LimitStates | null = null): RateLimiter {
  const spacingMs = MINUTE_MS / perMinute;
  const bookAt = Math.max(1, Math.floor(perMinute * BOOKED_SHARE));
  // Several processes can be ahead together. A clock that was set back must not block a client for longer than this.
  const maxAheadMs = shared === null ? MINUTE_MS : 2 * MINUTE_MS;
  const paces = new Map<string, Pace>();
  let sweepAt = SWEEP_AT;

  /** Returns the arrival time after this many more requests. */
  function arrivalAfter(arrivesAt: Millis, requests: number, now: Millis): Millis {
    return Math.max(Math.min(arrivesAt, now + maxAheadMs), now) + requests * spacingMs;
  }

  /** Returns the seconds to wait if a request would move the arrival time to `next`; null if it is allowed. */
  function waitSeconds(next: Millis, now: Millis): number | null {
    const waitMs = next - now - MINUTE_MS;
    // Tolerates rounding errors of floating-point sums.
    return waitMs > 0.001 ? Math.max(1, Math.ceil(waitMs / 1_000)) : null;
  }

  /** Adds the requests of this process to the shared state. The last one is refused if other processes' requests have used up the rate. */
  async function book(states: LimitStates, client: string, pace: Pace, now: Millis): Promise<number | null> {
    const requests = pace.unbooked;
    pace.unbooked = 0;
    const { wait, arrivesAt } = await states.change<Millis, { wait: number | null; arrivesAt: Millis }>(
      [client],
      now,
      ([known]) => {
        const all = arrivalAfter(known ?? now, requests, now);
        const wait = waitSeconds(all, now);
        const arrivesAt = wait === null ? all : all - spacingMs;
        return { states: [arrivesAt], expiresAt: arrivesAt, result: { wait, arrivesAt } };
      },
    );
    pace.arrivesAt = arrivesAt + pace.unbooked * spacingMs;
    return wait;
  }

  return {
    async take(client, now) {
      const pace = paces.get(client) ?? { arrivesAt: now, unbooked: 0 };
      const next = arrivalAfter(pace.arrivesAt, 1, now);
      const wait = waitSeconds(next, now);
      if (wait !== null) {
        // Also of a refused request, since the clock is behind again at the next one.
        pace.arrivesAt = Math.min(pace.arrivesAt, now + maxAheadMs);
        return wait;
      }
      paces.set(client, pace);
      pace.arrivesAt = next;
      pace.unbooked += 1;
      if (paces.size > sweepAt) {
        for (const [other, { arrivesAt }] of paces) if (arrivesAt <= now) paces.delete(other);
        sweepAt = Math.max(SWEEP_AT, paces.size * 2);
      }
      return shared === null || pace.unbooked < bookAt ? null : await book(shared, client, pace, now);
    },
  };
}
