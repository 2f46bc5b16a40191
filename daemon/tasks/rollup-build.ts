import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import { StoreError } from "../../core/ports/sqlite.ts";
import type { Store } from "../store/port/store.ts";
import { logTaskCrash } from "./log-task-crash.ts";

/** How long after the start the build begins, so that it does not delay the start, in milliseconds. */
const FIRST_DELAY_MS = 2_000;

/**
 * The pause between two steps of a few milliseconds each, in milliseconds. A million requests take half a minute, while
 * calls are metered.
 */
const PAUSE_MS = 20;

/**
 * How often the build looks for more work once it is done, in milliseconds: a day that has ended, or one whose sums
 * were changed.
 */
const INTERVAL_MS = 60_000;

/** The ports of the build. */
interface RollupBuildPorts {
  readonly store: Pick<Store, "rollups">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Builds the rollups in the background. Returns a function that stops it. Until they are built, reports read every request. */
export function startRollupBuild({ store, clock, log }: RollupBuildPorts): () => void {
  let cancel = clock.setTimer(FIRST_DELAY_MS, step);
  function step(): void {
    cancel = clock.setTimer(buildSome() ? PAUSE_MS : INTERVAL_MS, step);
  }
  function buildSome(): boolean {
    try {
      return store.rollups.buildSome(clock.now());
    } catch (cause) {
      // Another process is writing, such as a command that deletes requests.
      const isBusy = cause instanceof StoreError && cause.reason === "busy";
      if (!isBusy) logTaskCrash(log, "rollups", cause, { restart_delay_ms: INTERVAL_MS });
      return isBusy;
    }
  }
  return () => cancel();
}
