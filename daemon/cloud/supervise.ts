import type { LogEvent } from "../../core/ports/log.ts";
import {
  initialSupervisorState,
  type SupervisorEvent,
  type SupervisorStatus,
  supervisorTransition,
} from "../../core/supervisor/mod.ts";
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
  let cancelling = false;
  let previous: Promise<unknown> = Promise.resolve();

  async function runOnce(runNumber: number): Promise<SupervisorEvent> {
    await previous;
    cancelling = false;
    const startedAt = performance.now();
    const run = worker.run().then(
      () => ({ cause: cancelling ? ("shutdown" as const) : ("finished" as const), error: null }),
      (error: unknown) => ({
        cause: cancelling ? ("shutdown" as const) : ("error" as const),
        error: error instanceof Error ? error.name : "unknown",
      }),
    );
    previous = run;
    const how = await run;
    return { kind: "worker_exited", runNumber, ...how, ranMs: Math.round(performance.now() - startedAt) };
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
        cancelling = true;
        worker.stop();
        return undefined;
      },
      log: (effect) => {
        ports.log[effect.level](effect.event as LogEvent, { task: worker.name, ...effect.fields });
        return undefined;
      },
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
          const name = error instanceof Error ? error.name : "unknown";
          ports.log.error("daemon.task_crashed", { task: worker.name, error: name });
        });
      }
    },
    resume: () => driver.dispatch({ kind: "resume_requested" }),
    async stop() {
      cancelling = true;
      driver.dispatch({ kind: "shutdown_requested" });
      worker.stop();
      await previous;
      driver.stop();
    },
  };
}
