/**
 * Runs a state machine of the core. It handles one event at a time, saves each new state before handling its effects, feeds
 * results back as events, and manages timers. Any failure ends the run; the next run starts from the saved state.
 *
 * ```ts
 * import { systemClock } from "../clock/mod.ts";
 * import { createMemoryStateStore } from "../memory/mod.ts";
 * import { createDriver } from "./mod.ts";
 *
 * type State = { readonly pings: number };
 * type Event = { readonly kind: "started" | "pinged" };
 * type Effect = { readonly kind: "ping" };
 *
 * const driver = createDriver<State, Event, Effect>({
 *   transition: (state, event) =>
 *     event.kind === "started"
 *       ? { state, effects: [{ kind: "ping" }] }
 *       : { state: { pings: state.pings + 1 }, effects: [] },
 *   initial: { pings: 0 },
 *   store: createMemoryStateStore(),
 *   clock: systemClock,
 *   timers: {},
 *   handlers: { ping: () => ({ kind: "pinged" }) },
 * });
 * const ended = driver.run({ kind: "started" });
 * await driver.idle();
 * console.log(driver.state.pings); // 1
 * driver.stop();
 * await ended;
 * ```
 *
 * @module
 */
export { createDriver, inBackground } from "./create-driver.ts";
