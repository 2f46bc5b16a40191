import type { Clock } from "../core/ports/clock.ts";

/** Resolves after so many milliseconds of the clock; with 0 after other work had its turn. */
export function pause({ setTimer }: Pick<Clock, "setTimer">, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimer(delayMs, resolve);
  });
}
