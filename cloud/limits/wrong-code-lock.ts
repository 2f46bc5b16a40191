import type { Millis } from "../../core/values/time.ts";
import { createMemoryStates, type LimitStates } from "./limit-states.ts";

/** How many wrong codes lock a client. Source: docs/specification.md#pairing. */
export const MAX_WRONG_CODES = 5;

/** How long a lock lasts and a wrong code counts, milliseconds. Source: docs/specification.md#pairing: ten minutes. */
export const WRONG_CODES_LOCK_MS = 600_000;

/** Counts wrong pairing codes by person and by address. */
export interface WrongCodeLock {
  /**
   * Starts an attempt for all of these clients. It counts as wrong until refunded, so that simultaneous attempts count too.
   * Resolves to null if it is allowed, else to the seconds until it is.
   */
  take(clients: readonly string[], now: Millis): Promise<number | null>;
  /** Removes the attempt started at `takenAt`, whose code was right. Earlier ones stay: a guesser may own valid codes. */
  refund(clients: readonly string[], takenAt: Millis): Promise<void>;
}

/** The times of a client's wrong codes, oldest first. */
type Times = readonly Millis[];

/** Creates a lock. */
export function createWrongCodeLock(states: LimitStates = createMemoryStates()): WrongCodeLock {
  return {
    take: (clients, now) =>
      states.change<Times, number | null>(clients, now, (stored) => {
        const times = stored.map((each) => recent(each ?? [], now));
        const waits = times.map((each) =>
          each.length < MAX_WRONG_CODES ? 0 : (each.at(-1) ?? now) + WRONG_CODES_LOCK_MS - now,
        );
        const waitMs = Math.max(0, ...waits);
        if (waitMs > 0) return { states: null, expiresAt: 0, result: Math.ceil(waitMs / 1_000) };
        const after = times.map((each) => [...each, now]);
        return { states: after, expiresAt: now + WRONG_CODES_LOCK_MS, result: null };
      }),
    refund: (clients, takenAt) =>
      states.change<Times, void>(clients, takenAt, (stored) => {
        const after = stored.map((times) => {
          const at = times?.lastIndexOf(takenAt) ?? -1;
          return at < 0 ? (times ?? []) : (times ?? []).toSpliced(at, 1);
        });
        const lastAt = Math.max(takenAt, ...after.flat());
        return { states: after, expiresAt: lastAt + WRONG_CODES_LOCK_MS, result: undefined };
      }),
  };
}

/** Returns the times that count. A full set of wrong codes counts until the last of them has expired. */
function recent(times: Times, now: Millis): Times {
  const isRecent = (at: Millis) => Math.abs(now - at) < WRONG_CODES_LOCK_MS;
  const last = times.at(-1);
  return times.length === MAX_WRONG_CODES && last !== undefined && isRecent(last)
    ? times
    : times.filter(isRecent);
}
