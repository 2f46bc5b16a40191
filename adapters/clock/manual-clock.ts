import type { Clock } from "../../core/ports/clock.ts";
import type { Millis } from "../../core/time.ts";

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves time on and fires, in order, every timer that falls due on the way, those set meanwhile included. */
  advance(byMs: number): void;
  /** Sets the wall clock, as a person or a time server does: no timer fires earlier or later for it. */
  jump(toMs: Millis): void;
  /** Milliseconds until the next timer fires; `null` where none is set. */
  nextTimerMs(): number | null;
}

/** Makes a clock that stands at `startAt`. */
export function createManualClock(startAt: Millis): ManualClock {
  let elapsedMs = 0;
  let wallOffset = startAt;
  const timers: { dueAt: number; run: () => void }[] = [];

  function remove(timer: { dueAt: number; run: () => void }): void {
    const at = timers.indexOf(timer);
    if (at >= 0) timers.splice(at, 1);
  }
  /** The timer that is due first; of several due together, the one set first. */
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
