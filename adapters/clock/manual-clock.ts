import type { Clock } from "../../core/ports/clock.ts";
import type { Millis } from "../../core/values/time.ts";

/** A clock that advances only when told to, for tests and simulations. */
export interface ManualClock extends Clock {
  /** Advances the time and runs due timers in order, including those that are set meanwhile. */
  advance(byMs: number): void;
  /** Sets the wall clock, as a time server does. Timers are not affected. */
  jump(toMs: Millis): void;
  /** Milliseconds until the next timer runs; `null` if none is set. */
  nextTimerMs(): number | null;
}

/** Creates a manual clock that starts at `startAt`. */
export function createManualClock(startAt: Millis): ManualClock {
  let elapsedMs = 0;
  let wallOffset = startAt;
  const timers: { dueAt: number; run: () => void }[] = [];

  function remove(timer: { dueAt: number; run: () => void }): void {
    const at = timers.indexOf(timer);
    if (at >= 0) timers.splice(at, 1);
  }
  /** Returns the timer that is due first. Of timers due at the same time, the one set first. */
  function earliest(): { dueAt: number; run: () => void } | undefined {
    return timers.reduce<(typeof timers)[number] | undefined>(
      (best, timer) => (best === undefined || timer.dueAt < best.dueAt ? timer : best),
      undefined,
    );
  }

  return {
    now: () => elapsedMs + wallOffset,
    setTimer(delayMs, run) {
      const timer = { dueAt: elapsedMs + Math.max(delayMs, 0), run };
      timers.push(timer);
      return () => remove(timer);
    },
    advance(byMs) {
      const until = elapsedMs + byMs;
      for (let next = earliest(); next !== undefined && next.dueAt <= until; next = earliest()) {
        elapsedMs = next.dueAt;
        remove(next);
        next.run();
      }
      elapsedMs = until;
    },
    jump(toMs) {
      wallOffset = toMs - elapsedMs;
    },
    nextTimerMs() {
      const next = earliest();
      return next === undefined ? null : next.dueAt - elapsedMs;
    },
  };
}
