/**
 * Runs a state machine of the core: one event at a time, each new state saved before its effects are handled, answers
 * fed back as events, timers kept. If anything fails the run ends, and the next one starts from what was saved.
 *
 * ```ts
 * import { initialWatchdogState, watchdogTransition } from "../../core/watchdog/mod.ts";
 * import { systemClock } from "../clock/mod.ts";
 * import { createMemoryStateStore } from "../memory/mod.ts";
 * import { createDriver, inBackground } from "./mod.ts";
 *
 * const watchdog = createDriver({
 *   transition: watchdogTransition,
 *   initial: initialWatchdogState,
 *   store: createMemoryStateStore(),
 *   clock: systemClock,
 *   timers: { probe: { kind: "probe_due" } },
 *   handlers: {
 *     probe_port: () => inBackground(Promise.resolve({ kind: "probe_answered", ok: true })),
 *     restart_proxy: () => undefined,
 *     log: (effect) => {
 *       console.log(effect.event, effect.fields);
 *     },
 *   },
 * });
 * const ended = watchdog.run({ kind: "started" });
 * watchdog.stop();
 * await ended;
 * ```
 *
 * @module
 */
export { createDriver, inBackground } from "./create-driver.ts";
