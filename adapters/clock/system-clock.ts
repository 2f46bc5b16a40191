import { TIMER_CAP_MS } from "../../core/delivery/retry/backoff-delay.ts";
import type { Clock } from "../../core/ports/clock.ts";

/**
 * The system's clock and timers. A delay beyond the runtime's maximum is reduced to that maximum, instead of firing at
 * once.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, TIMER_CAP_MS));
    return () => clearTimeout(timer);
  },
};
