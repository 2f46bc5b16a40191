import type { Clock } from "../../core/ports/clock.ts";
import type { CloudLog } from "../../core/ports/cloud-log.ts";
import { continueErasures, type ErasureParts } from "../erasure/run-erasure.ts";
import { problemOf } from "../http/problem.ts";
import { deleteExpiredStates } from "../store/limit-states.ts";
import { PURGE_MAX_STEPS, type PurgeParts, type PurgeReport, runPurge } from "./run-purge.ts";

/** From the server's start to the first run, and from the end of one to the next, milliseconds. Decision: docs/specification.md#deletion says "about". */
const FIRST_RUN_MS = 60_000;
const INTERVAL_MS = 3_600_000;

/** Time to the next run after one that did not finish, milliseconds. */
const UNFINISHED_MS = 10_000;

/** The recurring purge of a running server. */
export interface PurgeJob {
  /** Stops the job after its current transaction. */
  stop(): Promise<void>;
}

/**
 * Starts a job that erases what is due and finishes interrupted erasures, hourly, for a few seconds at a time. Several processes may
 * each run one. Calls `purged` after a run that erased something.
 */
export function startPurgeJob(
  parts: PurgeParts &
    Pick<ErasureParts, "sha256"> & {
      readonly clock: Pick<Clock, "now" | "setTimer">;
      readonly log: CloudLog;
    },
  purged: (report: PurgeReport) => Promise<void> = async () => {},
): PurgeJob {
  const { clock, log } = parts;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = clock.setTimer(FIRST_RUN_MS, tick);

  function tick(): void {
    running = run().then((nextMs) => {
      if (!isStopped) cancel = clock.setTimer(nextMs, tick);
    });
  }

  async function run(): Promise<number> {
    try {
      await deleteExpiredStates(parts.db, clock.now());
      await continueErasures({ ...parts, bodyKeys: parts.bodyKeys ?? null });
      const report = await runPurge(parts, { maxSteps: PURGE_MAX_STEPS, isStopped: () => isStopped });
      const count = (kind: string) => report.erased.filter((subject) => subject.kind === kind).length;
      if (report.rows > 0 || report.erased.length > 0) {
        log({
          event: "cloud.purged",
          workspaces: count("workspace"),
          organisations: count("organisation"),
          accounts: count("account"),
          left: report.left.length,
          rows: report.rows,
        });
      }
      if (report.erased.length > 0) await purged(report);
      return report.left.length > 0 ? UNFINISHED_MS : INTERVAL_MS;
    } catch (error) {
      const { reason, code } = problemOf(error);
      log({ event: "cloud.purge_failed", reason, code });
      return INTERVAL_MS;
    }
  }

  return {
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}
