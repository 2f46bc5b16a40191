/**
 * Implementations of the clock port: the system's clock, and a manual clock for tests and simulations.
 *
 * ```ts
 * import { createManualClock } from "./mod.ts";
 *
 * const clock = createManualClock(Date.UTC(2026, 0, 1));
 * let fired = 0;
 * clock.setTimer(30_000, () => fired++);
 * clock.advance(60_000);
 * fired; // 1
 * ```
 *
 * @module
 */
export { createManualClock, type ManualClock } from "./manual-clock.ts";
export { systemClock } from "./system-clock.ts";
