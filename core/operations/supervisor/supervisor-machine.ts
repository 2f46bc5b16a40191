import { exponentialDelay } from "../../delivery/retry/backoff-delay.ts";
import {
  type ClearTimerEffect,
  type LogEffect,
  runTable,
  type SetTimerEffect,
  type Step,
  type Table,
} from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";

/**
 * First delay before a worker is restarted, in milliseconds. Source: docs/specification.md#limits: worker backoff 1 s to 60
 * s.
 */
export const RESTART_DELAY_MIN_MS = 1_000;

/**
 * Longest delay before a worker is restarted, in milliseconds. Source: docs/specification.md#limits: worker backoff 1 s to
 * 60 s.
 */
export const RESTART_DELAY_MAX_MS = 60_000;

/** Consecutive fast restarts that degrade a worker. Source: docs/specification.md#limits: 8 consecutive fast restarts then degrade. */
export const FAST_RESTARTS_MAX = 8;

/** Maximum duration of a fast run, in milliseconds. Source: docs/specification.md#supervisor: 10 s. */
export const FAST_RUN_MS = 10_000;

/**
 * Duration of a healthy run, which resets the counters, in milliseconds. Source: docs/specification.md#supervisor: 60 s.
 */
export const HEALTHY_RUN_MS = 60_000;

/**
 * Interval at which a degraded worker is retried, in milliseconds. Source: docs/specification.md#supervisor: every 300 s.
 */
export const DEGRADED_RETRY_MS = 300_000;

/** The status of the worker. `retrying`: the worker is degraded and runs on trial. */
export type SupervisorStatus = "stopped" | "running" | "waiting" | "degraded" | "retrying";

/** One supervised worker. Plain JSON. */
export interface SupervisorState {
  readonly status: SupervisorStatus;
  /** Consecutive restarts after a run of less than 10 s. */
  readonly fastRestarts: number;
  /** Exits since the last healthy run. They determine the delay. */
  readonly restarts: number;
  /** Number of the latest run. The exit of an earlier run is ignored. */
  readonly runNumber: number;
}

/** What happened to the worker. */
export type SupervisorEvent =
  /** The daemon started, or the worker was configured. `enabled` is false if there is nothing to run. */
  | { readonly kind: "started"; readonly enabled: boolean }
  /** The worker exited. `ranMs` is measured on a monotonic clock. `shutdown` means that the exit was requested. */
  | {
      readonly kind: "worker_exited";
      readonly runNumber: number;
      readonly cause: "shutdown" | "error" | "finished";
      readonly error: string | null;
      /** The error's message; absent or null if it must not be logged. */
      readonly message?: string | null;
      readonly ranMs: number;
    }
  /** The current run has lasted 60 s. */
  | { readonly kind: "run_proved" }
  | { readonly kind: "restart_due" }
  /** `meter cloud resume`. */
  | { readonly kind: "resume_requested" }
  | { readonly kind: "shutdown_requested" };

/** An effect that the supervisor requests. */
export type SupervisorEffect =
  /** Starts the worker after a cancelled run has ended. Answered by `worker_exited` with the same number. */
  | { readonly kind: "spawn_worker"; readonly runNumber: number }
  /** Stops the worker. Does nothing if none runs. */
  | { readonly kind: "cancel_worker" }
  | SetTimerEffect<"restart" | "proof">
  | ClearTimerEffect<"restart" | "proof">
  | LogEffect;

type SupervisorStep = Step<SupervisorState, SupervisorEffect>;
type WorkerExited = Extract<SupervisorEvent, { kind: "worker_exited" }>;

/** A worker that was never started. */
export const initialSupervisorState: SupervisorState = {
  status: "stopped",
  fastRestarts: 0,
  restarts: 0,
  runNumber: 0,
};

const started = { to: { running: "enabled", stopped: "not enabled" }, run: start } as const;
const shutdown = { to: { stopped: "shutdown" }, run: stop } as const;
const nothing: readonly SupervisorEffect[] = [];

/** The supervisor, row by row. Source: docs/specification.md#metadata-sync, last row, and "Limits". */
export const supervisorTable: Table<SupervisorState, SupervisorEvent, SupervisorEffect> = {
  stopped: {
    started,
    worker_exited: "ignored",
    run_proved: "ignored",
    restart_due: "ignored",
    resume_requested: "ignored",
    shutdown_requested: "ignored",
  },
  running: {
    started,
    worker_exited: {
      to: {
        waiting: "unexpected end",
        degraded: "fast end after 8 fast restarts",
        stopped: "told to end",
        running: "end of an earlier run",
      },
      run: restart,
    },
    run_proved: { to: { running: "60 s: counters reset" }, run: prove },
    restart_due: "ignored",
    resume_requested: "ignored",
    shutdown_requested: shutdown,
  },
  waiting: {
    started,
    worker_exited: "ignored",
    run_proved: "ignored",
    restart_due: { to: { running: "1 s to 60 s later" }, run: respawn },
    resume_requested: { to: { running: "meter cloud resume" }, run: respawn },
    shutdown_requested: shutdown,
  },
  degraded: {
    started,
    worker_exited: "ignored",
    run_proved: "ignored",
    restart_due: { to: { retrying: "every 300 s" }, run: retry },
    resume_requested: { to: { retrying: "meter cloud resume" }, run: retry },
    shutdown_requested: shutdown,
  },
  retrying: {
    started,
    worker_exited: {
      to: { degraded: "unexpected end", stopped: "told to end", retrying: "end of an earlier run" },
      run: degradeAgain,
    },
    run_proved: { to: { running: "60 s: counters reset" }, run: prove },
    restart_due: "ignored",
    resume_requested: "ignored",
    shutdown_requested: shutdown,
  },
};

/** The transition of one worker's supervisor. The daemon keeps running, no matter how often the worker exits. */
export function supervisorTransition(
  state: SupervisorState,
  event: SupervisorEvent,
  now: Millis,
): SupervisorStep {
  return runTable(supervisorTable, state, event, now);
}

/** Starts the worker in any saved state, because it ended with the process. Resets the counters. */
function start(state: SupervisorState, event: { readonly enabled: boolean }): SupervisorStep {
  if (event.enabled) return spawn("running", reset(state));
  return {
    state: { ...reset(state), status: "stopped" },
    effects: [
      { kind: "clear_timer", timer: "restart" },
      { kind: "clear_timer", timer: "proof" },
      { kind: "cancel_worker" },
      { kind: "log", level: "info", event: "cloud.supervisor.skip", fields: { reason: "not_enabled" } },
    ],
  };
}

/** Returns the state with its counters at zero. */
function reset(state: SupervisorState): SupervisorState {
  return { ...state, fastRestarts: 0, restarts: 0 };
}

function spawn(status: "running" | "retrying", state: SupervisorState): SupervisorStep {
  const runNumber = state.runNumber + 1;
  return {
    state: { ...state, status, runNumber },
    effects: [
      { kind: "clear_timer", timer: "restart" },
      { kind: "spawn_worker", runNumber },
      { kind: "set_timer", timer: "proof", delayMs: HEALTHY_RUN_MS },
      { kind: "log", level: "info", event: "cloud.supervisor.spawned", fields: { restarts: state.restarts } },
    ],
  };
}

function respawn(state: SupervisorState): SupervisorStep {
  return spawn("running", state);
}

function retry(state: SupervisorState): SupervisorStep {
  return spawn("retrying", state);
}

function prove(state: SupervisorState): SupervisorStep {
  return { state: { ...reset(state), status: "running" }, effects: nothing };
}

function restart(state: SupervisorState, event: WorkerExited): SupervisorStep {
  if (event.runNumber !== state.runNumber) return { state, effects: nothing };
  if (event.cause === "shutdown") return stopped(state);
  const healthy = event.ranMs >= HEALTHY_RUN_MS;
  const fast = event.ranMs <= FAST_RUN_MS;
  const restarts = healthy ? 1 : state.restarts + 1;
  if (fast && state.fastRestarts >= FAST_RESTARTS_MAX) return degrade({ ...state, restarts }, event);
  // Decision: a run between 10 s and 60 s is neither fast nor healthy, and leaves the count of fast runs unchanged.
  const fastRestarts = healthy ? 0 : state.fastRestarts + (fast ? 1 : 0);
  const delayMs = exponentialDelay(restarts, RESTART_DELAY_MIN_MS, RESTART_DELAY_MAX_MS);
  return wait({ ...state, status: "waiting", fastRestarts, restarts }, event, delayMs, "warn");
}

function degradeAgain(state: SupervisorState, event: WorkerExited): SupervisorStep {
  if (event.runNumber !== state.runNumber) return { state, effects: nothing };
  if (event.cause === "shutdown") return stopped(state);
  return degrade({ ...state, restarts: state.restarts + 1 }, event);
}

function degrade(state: SupervisorState, event: WorkerExited): SupervisorStep {
  return wait({ ...state, status: "degraded" }, event, DEGRADED_RETRY_MS, "error");
}

function wait(
  state: SupervisorState,
  event: WorkerExited,
  delayMs: number,
  level: "warn" | "error",
): SupervisorStep {
  return {
    state,
    effects: [
      { kind: "clear_timer", timer: "proof" },
      { kind: "set_timer", timer: "restart", delayMs },
      {
        kind: "log",
        level,
        event: "cloud.supervisor.worker_exited",
        fields: {
          cause: event.cause,
          error: event.error,
          ...(event.message !== undefined && { message: event.message }),
          ran_ms: event.ranMs,
          fast_restarts: state.fastRestarts,
          degraded: state.status === "degraded",
          restart_in_ms: delayMs,
        },
      },
    ],
  };
}

/** Source: docs/specification.md#metadata-sync: any exit except shutdown cancellation is unexpected; this one is not. */
function stopped(state: SupervisorState): SupervisorStep {
  return {
    state: { ...reset(state), status: "stopped" },
    effects: [
      { kind: "clear_timer", timer: "restart" },
      { kind: "clear_timer", timer: "proof" },
    ],
  };
}

function stop(state: SupervisorState): SupervisorStep {
  const next = stopped(state);
  return { state: next.state, effects: [...next.effects, { kind: "cancel_worker" }] };
}
