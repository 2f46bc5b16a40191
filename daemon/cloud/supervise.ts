import {
  initialSupervisorState,
  type SupervisorEvent,
  type SupervisorState,
  type SupervisorStatus,
  supervisorTransition,
} from "../../core/operations/supervisor/supervisor-machine.ts";
import type { Driver } from "../../core/ports/driver.ts";
import { errorMessage, errorName } from "../../core/values/text/describe-error.ts";
import { writeLogEffect } from "../tasks/log-effect.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import type { CloudServicePorts } from "./ports.ts";

/** Keeps one worker running. */
export interface Supervisor {
  readonly status: SupervisorStatus;
  /** Starts or stops the worker, if its state differs. */
  enable(enabled: boolean): void;
  /** Restarts a waiting or degraded worker at once, for `meter cloud resume`. */
  resume(): void;
  /** Stops the worker and waits for its end. */
  stop(): Promise<void>;
}

/** A worker that can be supervised. */
interface SupervisedWorker {
  readonly name: string;
  run(): Promise<void>;
  stop(): void;
}

type SupervisorDriver = Driver<SupervisorState, SupervisorEvent>;

function describeError(cause: unknown) {
  return { error: errorName(cause), message: errorMessage(cause) };
}

interface SupervisorContext {
  readonly ports: SupervisorPorts;
  readonly worker: SupervisedWorker;
  isEnabled: boolean | null;
  hasStarted: boolean;
  /** The previous run. Runs do not overlap. */
  previous: Promise<unknown>;
  lastRun: number;
  /** Runs up to this number were cancelled, including one that has not started. */
  cancelledUpTo: number;
}

type SupervisorPorts = Pick<CloudServicePorts, "createDriver" | "clock" | "log">;

/** Creates a supervisor, which restarts the worker whenever it ends. */
export function createSupervisor(ports: SupervisorPorts, worker: SupervisedWorker): Supervisor {
  const context: SupervisorContext = {
    ports,
    worker,
    isEnabled: null,
    hasStarted: false,
    previous: Promise.resolve(),
    lastRun: 0,
    cancelledUpTo: 0,
  };
  const driver = createSupervisorDriver(context);
  return {
    get status() {
      return driver.state.status;
    },
    enable: (enabled) => enable(context, driver, enabled),
    resume: () => driver.dispatch({ kind: "resume_requested" }),
    async stop() {
      if (!context.hasStarted) return;
      driver.dispatch({ kind: "shutdown_requested" });
      cancelRun(context);
      await driver.idle();
      driver.stop();
    },
  };
}

function createSupervisorDriver(context: SupervisorContext): SupervisorDriver {
  const { ports, worker } = context;
  return ports.createDriver({
    transition: supervisorTransition,
    initial: initialSupervisorState,
    store: { load: async () => null, save: async () => {} },
    clock: ports.clock,
    timers: { restart: { kind: "restart_due" }, proof: { kind: "run_proved" } },
    handlers: {
      spawn_worker: ({ runNumber }) => ({ background: runOnce(context, runNumber) }),
      cancel_worker: () => {
        cancelRun(context);
        return undefined;
      },
      log: (effect) => writeLogEffect(ports.log, effect, worker.name),
    },
  });
}

function enable(context: SupervisorContext, driver: SupervisorDriver, enabled: boolean): void {
  if (context.isEnabled === enabled) return;
  context.isEnabled = enabled;
  if (context.hasStarted) return driver.dispatch({ kind: "started", enabled });
  context.hasStarted = true;
  driver.run({ kind: "started", enabled }).catch((error: unknown) => {
    logTaskCrash(context.ports.log, context.worker.name, error);
  });
}

function cancelRun(context: SupervisorContext): void {
  context.cancelledUpTo = context.lastRun;
  context.worker.stop();
}

async function runOnce(context: SupervisorContext, runNumber: number): Promise<SupervisorEvent> {
  context.lastRun = runNumber;
  await context.previous;
  const isCancelled = () => runNumber <= context.cancelledUpTo;
  const startedAt = performance.now();
  const run = isCancelled() ? Promise.resolve(null) : context.worker.run().then(() => null, describeError);
  context.previous = run;
  const failure = await run;
  const cause = isCancelled() ? "shutdown" : failure === null ? "finished" : "error";
  const ranMs = Math.round(performance.now() - startedAt);
  return { kind: "worker_exited", runNumber, cause, ranMs, ...(failure ?? { error: null, message: null }) };
}
