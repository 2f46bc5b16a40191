/**
 * Watches the proxy's port: a probe every 1.5 s, an error in the log at three failures in a row, a restart at five, and
 * at most three restarts an hour; after that it goes on probing and shows that it gave up.
 *
 * ```ts
 * import { initialWatchdogState, watchdogTransition } from "./mod.ts";
 *
 * const { state } = watchdogTransition(initialWatchdogState, { kind: "probe_answered", ok: false }, 0);
 * state.status; // "failing"
 * ```
 *
 * @module
 */
export {
  initialWatchdogState,
  PROBE_FAILURES_TO_LOG,
  PROBE_FAILURES_TO_RESTART,
  PROBE_INTERVAL_MS,
  PROXY_RESTARTS_PER_HOUR,
  type WatchdogEffect,
  type WatchdogEvent,
  type WatchdogState,
  type WatchdogStatus,
  watchdogTable,
  watchdogTransition,
} from "./watchdog-machine.ts";
