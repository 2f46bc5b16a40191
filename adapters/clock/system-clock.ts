import type { Clock } from "../../core/ports/clock.ts";
import { TIMER_CAP_MS } from "../../core/retry/mod.ts";

/** The system's clock and timers. A delay beyond what the runtime's timers hold is cut to that, not fired at once. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, TIMER_CAP_MS));
    return () => clearTimeout(timer);
  },
};
