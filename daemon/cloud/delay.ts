import type { Clock } from "../../core/ports/clock.ts";

/** Waits `delayMs` milliseconds. With 0 it lets other work run first. */
export function delay({ setTimer }: Pick<Clock, "setTimer">, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimer(delayMs, resolve);
  });
}
