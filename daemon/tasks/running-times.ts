import {
  continueRun,
  RUNNING_STEP_MS,
  type RunningTime,
} from "../../core/metering/coverage/running-times.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import { StoreError } from "../../core/ports/sqlite.ts";
import type { Store } from "../store/port/store.ts";
import { logTaskCrash } from "./log-task-crash.ts";

/** The ports of the task. */
interface RunningTimesPorts {
  readonly store: { readonly coverage: Pick<Store["coverage"], "saveRun"> };
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Stores each minute that the daemon runs, so that times without metering are known later. Returns a function that stores the end and
 * stops the task. If a run can't be stored, for example because the disk is full, the next step stores all of it.
 */
export function startRunningTimes({ store, clock, log }: RunningTimesPorts): () => void {
  const startedAt = clock.now();
  let run: RunningTime = { from: startedAt, to: startedAt };
  let cancel = () => {};
  const save = () => {
    run = continueRun(run, clock.now());
    try {
      store.coverage.saveRun(run);
    } catch (cause) {
      if (!(cause instanceof StoreError)) logTaskCrash(log, "running_times", cause);
    }
  };
  const step = () => {
    cancel = clock.setTimer(RUNNING_STEP_MS, step);
    save();
  };
  step();
  return () => {
    cancel();
    save();
  };
}
