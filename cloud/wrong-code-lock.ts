import type { Millis } from "../core/time.ts";

/** So many wrong codes lock whoever sent them. Source: decisions, "Pairing". */
export const MAX_WRONG_CODES = 5;

/** For so long, milliseconds, and only wrong codes of so long ago count. Source: decisions, "Pairing": ten minutes. */
export const WRONG_CODES_LOCK_MS = 600_000;

/** Askers remembered before those who have nothing on their account are forgotten. */
const SWEEP_AT = 10_000;

/** Counts wrong pairing codes by person and by address. */
export interface WrongCodeLock {
  /**
   * Begins a try, which counts as wrong until it is given back, so that tries at the same moment count too. Null where
   * all of these may try, else the seconds after which they may again.
   */
  take(askers: readonly string[], now: Millis): number | null;
  /** The try that began then had no wrong code. Earlier ones stay: whoever guesses could have codes of their own. */
  giveBack(askers: readonly string[], takenAt: Millis): void;
}

/** In this process's memory, as the rate limits are: several instances each allow as much of 2^40 codes. */
export function createWrongCodeLock(): WrongCodeLock {
  const times = new Map<string, readonly Millis[]>();
  const isRecent = (at: Millis, now: Millis) => Math.abs(now - at) < WRONG_CODES_LOCK_MS;

  function recent(asker: string, now: Millis): readonly Millis[] {
    const known = times.get(asker) ?? [];
    const last = known.at(-1);
    // Five stand together, until the last of them has grown old.
    return known.length === MAX_WRONG_CODES && last !== undefined && isRecent(last, now)
      ? known
      : known.filter((at) => isRecent(at, now));
  }

  return {
    take(askers, now) {
      const waits = askers.map((asker) => {
        const last = recent(asker, now);
        return last.length < MAX_WRONG_CODES ? 0 : (last.at(-1) ?? now) + WRONG_CODES_LOCK_MS - now;
      });
      const waitMs = Math.max(0, ...waits);
      if (waitMs > 0) return Math.ceil(waitMs / 1_000);
      for (const asker of askers) times.set(asker, [...recent(asker, now), now]);
      if (times.size > SWEEP_AT) {
        for (const asker of times.keys()) if (recent(asker, now).length === 0) times.delete(asker);
      }
      return null;
    },
    giveBack(askers, takenAt) {
      for (const asker of askers) {
        const known = times.get(asker) ?? [];
        const at = known.lastIndexOf(takenAt);
        if (at >= 0) times.set(asker, known.toSpliced(at, 1));
      }
    },
  };
}
