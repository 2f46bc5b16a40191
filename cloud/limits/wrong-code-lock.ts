import type { Millis } from "../../core/values/time.ts";

/** How many wrong codes lock a client. Source: docs/specification.md#pairing. */
export const MAX_WRONG_CODES = 5;

/** How long a lock lasts and a wrong code counts, milliseconds. Source: docs/specification.md#pairing: ten minutes. */
export const WRONG_CODES_LOCK_MS = 600_000;

/** How many clients are remembered before those without recent wrong codes are removed. */
const SWEEP_AT = 10_000;

/** Counts wrong pairing codes by person and by address. */
export interface WrongCodeLock {
  /**
   * Starts an attempt for all of these clients. It counts as wrong until refunded, so that simultaneous attempts count too.
   * Returns null if it is allowed, else the seconds until it is.
   */
  take(clients: readonly string[], now: Millis): number | null;
  /** Removes the attempt started at `takenAt`, whose code was right. Earlier ones stay: a guesser may own valid codes. */
  refund(clients: readonly string[], takenAt: Millis): void;
}

/** Creates a lock. The state is in memory, like the rate limits: each instance of the server counts separately, of 2^40 codes. */
export function createWrongCodeLock(): WrongCodeLock {
  const times = new Map<string, readonly Millis[]>();
  const isRecent = (at: Millis, now: Millis) => Math.abs(now - at) < WRONG_CODES_LOCK_MS;

  function recent(client: string, now: Millis): readonly Millis[] {
    const known = times.get(client) ?? [];
    const last = known.at(-1);
    // A full set of wrong codes counts until the last of them has expired.
    return known.length === MAX_WRONG_CODES && last !== undefined && isRecent(last, now)
      ? known
      : known.filter((at) => isRecent(at, now));
  }

  return {
    take(clients, now) {
      const waits = clients.map((client) => {
        const last = recent(client, now);
        return last.length < MAX_WRONG_CODES ? 0 : (last.at(-1) ?? now) + WRONG_CODES_LOCK_MS - now;
      });
      const waitMs = Math.max(0, ...waits);
      if (waitMs > 0) return Math.ceil(waitMs / 1_000);
      for (const client of clients) times.set(client, [...recent(client, now), now]);
      if (times.size > SWEEP_AT) {
        for (const client of times.keys()) if (recent(client, now).length === 0) times.delete(client);
      }
      return null;
    },
    refund(clients, takenAt) {
      for (const client of clients) {
        const known = times.get(client) ?? [];
        const at = known.lastIndexOf(takenAt);
        if (at >= 0) times.set(client, known.toSpliced(at, 1));
      }
    },
  };
}
