import type { Millis } from "../core/time.ts";

/** So many wrong codes lock whoever sent them. Source: decisions, "Pairing". */
export const MAX_WRONG_CODES = 5;

/** For so long, milliseconds, and only wrong codes of so long ago count. Source: decisions, "Pairing": ten minutes. */
export const WRONG_CODES_LOCK_MS = 600_000;

/** Askers remembered before those who have nothing on their account are forgotten. */
const SWEEP_AT = 10_000;

/** Counts wrong pairing codes by person and by address. */
export interface WrongCodeLock {
  /** Null where all of them may try, else the seconds after which they may again. */
  lockedFor(askers: readonly string[], now: Millis): number | null;
  /** A wrong code. A right one takes none back: whoever guesses could have codes of their own. */
  wrong(askers: readonly string[], now: Millis): void;
}

/** In this process's memory, as the rate limits are: several instances each allow as much of 2^40 codes. */
export function createWrongCodeLock(): WrongCodeLock {
  const times = new Map<string, Millis[]>();
  const recent = (asker: string, now: Millis) =>
    (times.get(asker) ?? []).filter((at) => Math.abs(now - at) < WRONG_CODES_LOCK_MS);
  return {
    lockedFor(askers, now) {
      const waits = askers.map((asker) => {
        const last = recent(asker, now);
        return last.length < MAX_WRONG_CODES ? 0 : (last.at(-1) ?? now) + WRONG_CODES_LOCK_MS - now;
      });
      const waitMs = Math.max(0, ...waits);
      return waitMs === 0 ? null : Math.ceil(waitMs / 1_000);
    },
    wrong(askers, now) {
      for (const asker of askers) times.set(asker, [...recent(asker, now), now].slice(-MAX_WRONG_CODES));
      if (times.size <= SWEEP_AT) return;
      for (const asker of times.keys()) if (recent(asker, now).length === 0) times.delete(asker);
    },
  };
}
