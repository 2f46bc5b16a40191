/**
 * Keeps a worker going: started again after 1 s, 2 s … 60 s; set aside after eight ends within 10 s in a row, and tried
 * again every 300 s; well again after a run of 60 s. A worker that was told to end has not failed.
 *
 * ```ts
 * import { initialSupervisorState, supervisorTransition } from "./mod.ts";
 *
 * const { state } = supervisorTransition(initialSupervisorState, { kind: "started", enabled: true }, 0);
 * const crash = { kind: "worker_exited", runNumber: 1, cause: "error", error: "boom", ranMs: 5 } as const;
 * supervisorTransition(state, crash, 5).state.status; // "waiting"
 * ```
 *
 * @module
 */
export {
  DEGRADED_RETRY_MS,
  FAST_RESTARTS_MAX,
  FAST_RUN_MS,
  HEALTHY_RUN_MS,
  initialSupervisorState,
  RESTART_DELAY_MAX_MS,
  RESTART_DELAY_MIN_MS,
  type SupervisorEffect,
  type SupervisorEvent,
  type SupervisorState,
  type SupervisorStatus,
  supervisorTable,
  supervisorTransition,
} from "./supervisor-machine.ts";
