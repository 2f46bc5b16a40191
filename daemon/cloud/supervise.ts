import {
  initialSupervisorState,
  type SupervisorEvent,
  type SupervisorStatus,
  supervisorTransition,
} from "../../core/supervisor/mod.ts";
import { errorName } from "../error-name.ts";
import { writeLogEffect } from "../log-effect.ts";
import type { CloudServicePorts } from "./ports.ts";

/** Keeps one worker going. */
export interface Supervisor {
  readonly status: SupervisorStatus;
  /** The worker is to run or not; nothing where that is so already. */
  enable(enabled: boolean): void;
  /** `meter cloud resume`: a worker that waits or is degraded is tried at once. */
  resume(): void;
  /** Ends the worker and waits for its end. */
  stop(): Promise<void>;
}

/** What is supervised. */
export interface Supervised {
  readonly name: string;
  run(): Promise<void>;
  stop(): void;
}

/** Makes the supervisor of a worker: however often it ends, the daemon goes on. */
export function createSupervisor(
  ports: Pick<CloudServicePorts, "createDriver" | "clock" | "log">,
  worker: Supervised,
): Supervisor {
  let wanted: boolean | null = null;
  let previous: Promise<unknown> = Promise.resolve();
  let lastRun = 0;
  /** Runs up to this one were told to end, also one that has not begun yet. */
  let cancelledUpTo = 0;

  function cancel(): void {
    cancelledUpTo = lastRun;
    worker.stop();
  }

  async function runOnce(runNumber: number): Promise<SupervisorEvent> {
    lastRun = runNumber;
    await previous;
    const isCancelled = () => runNumber <= cancelledUpTo;
    const startedAt = performance.now();
    const run = isCancelled() ? Promise.resolve(null) : worker.run().then(() => null, errorName);
    previous = run;
    const error = await run;
    const cause = isCancelled() ? "shutdown" : error === null ? "finished" : "error";
    const ranMs = Math.round(performance.now() - startedAt);
    return { kind: "worker_exited", runNumber, cause, error, ranMs };
  }

  const driver = ports.createDriver({
    transition: supervisorTransition,
    initial: initialSupervisorState,
    store: { load: async () => null, save: async () => {} },
    clock: ports.clock,
    timers: { restart: { kind: "restart_due" }, proof: { kind: "run_proved" } },
    handlers: {
      spawn_worker: ({ runNumber }) => ({ background: runOnce(runNumber) }),
      cancel_worker: () => {
        cancel();
        return undefined;
      },
      log: (effect) => writeLogEffect(ports.log, effect, worker.name),
    },
  });
  let begun = false;
  return {
    get status() {
      return driver.state.status;
    },
    enable(enabled) {
      if (wanted === enabled) return;
      wanted = enabled;
      if (begun) driver.dispatch({ kind: "started", enabled });
      else {
        begun = true;
        driver.run({ kind: "started", enabled }).catch((error: unknown) => {
          ports.log.error("daemon.task_crashed", { task: worker.name, error: errorName(error) });
        });
      }
    },
    resume: () => driver.dispatch({ kind: "resume_requested" }),
    async stop() {
      if (!begun) return;
      driver.dispatch({ kind: "shutdown_requested" });
      cancel();
      await driver.idle();
      driver.stop();
    },
  };
}
