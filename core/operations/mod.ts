/**
 * Runs the meter on a machine: configuration, installation, diagnosis and supervision, as pure functions and state
 * machines.
 *
 * - `config/`: all settings with defaults and bounds, and warnings about invalid values. It never throws.
 * - `supervisor/`: restarts a worker, with a growing delay if it keeps failing.
 * - `watchdog/`: probes the proxy's port and restarts the proxy.
 * - `install/`: the steps of `meter init`, as data with their undo.
 * - `doctor/`: the checks of `meter doctor`.
 *
 * ```ts
 * import { initialSupervisorState, resolveConfig, supervisorTransition } from "./mod.ts";
 *
 * const { config, warnings } = resolveConfig({ proxy: { prot: 9000 } }, { today: "2026-11-21" });
 * console.log(config.proxy.port, warnings.length); // 8081 1
 *
 * const { state } = supervisorTransition(initialSupervisorState, { kind: "started", enabled: true }, 0);
 * const crash = { kind: "worker_exited", runNumber: 1, cause: "error", error: "boom", ranMs: 5 } as const;
 * console.log(supervisorTransition(state, crash, 5).state.status); // waiting
 * ```
 *
 * @module
 */
export type { Config, ResolvedConfig } from "./config/config.ts";
export { resolveConfig } from "./config/resolve-config.ts";
export {
  initialSupervisorState,
  type SupervisorEffect,
  type SupervisorEvent,
  type SupervisorState,
  type SupervisorStatus,
  supervisorTransition,
} from "./supervisor/supervisor-machine.ts";
