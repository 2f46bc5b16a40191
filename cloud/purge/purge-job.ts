import type { Clock } from "../../core/ports/clock.ts";
import type { CloudLog } from "../../core/ports/cloud-log.ts";
import { continueErasures, type ErasureParts } from "../erasure/run-erasure.ts";
import { problemOf } from "../http/problem.ts";
import { sealingOf } from "../store/body-keys.ts";
import { deleteExpiredStates } from "../store/limit-states.ts";
import { sealOldBodies } from "../store/seal-old-bodies.ts";
import { PURGE_MAX_STEPS, type PurgeParts, runPurge } from "./run-purge.ts";

/** From the server's start to the first run, and from the end of one to the next, milliseconds. Decision: docs/specification.md#deletion says "about". */
const FIRST_RUN_MS = 60_000;
const INTERVAL_MS = 3_600_000;

/** Time to the next run after one that did not finish, milliseconds. */
const UNFINISHED_MS = 10_000;

/** From the end of one search for bodies that are not encrypted to the next, milliseconds. */
const SEALING_INTERVAL_MS = 24 * 3_600_000;

/** Most requests whose bodies a run encrypts. Decision: a run takes seconds, so that a stop never waits long. */
const SEALED_PER_RUN = 1_000;

/** The recurring purge of a running server. */
export interface PurgeJob {
  /** Stops the job after its current transaction. */
  stop(): Promise<void>;
}

/**
 * Starts a job that erases what is due, finishes interrupted erasures and encrypts old bodies, hourly, for a few seconds at a time. Several
 * processes may each run one. Calls `purged` after a run that erased something, and once no body in clear is left.
 */
export function startPurgeJob(
  parts: PurgeParts &
    Pick<ErasureParts, "sha256" | "randomBytes"> & {
      readonly clock: Pick<Clock, "now" | "setTimer">;
      readonly log: CloudLog;
    },
  purged: () => Promise<void> = async () => {},
): PurgeJob {
  const { clock, log } = parts;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  let [nextSealing, sealedSoFar] = [0, 0];
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
      const isSealed = await seal();
      const isRewritten = isSealed && sealedSoFar > 0;
      if (isRewritten) sealedSoFar = 0;
      if (report.erased.length > 0 || isRewritten) await purged();
      return report.left.length > 0 || !isSealed ? UNFINISHED_MS : INTERVAL_MS;
    } catch (error) {
      const { reason, code } = problemOf(error);
      log({ event: "cloud.purge_failed", reason, code });
      return INTERVAL_MS;
    }
  }

  /** Encrypts some of the bodies that are stored in clear. Returns whether none is left. */
  async function seal(): Promise<boolean> {
    const sealing = sealingOf(parts);
    const now = clock.now();
    if (sealing === null || now < nextSealing) return true;
    const { sealed, isUnfinished } = await sealOldBodies(parts.db, sealing, now, {
      maxRequests: SEALED_PER_RUN,
      isStopped: () => isStopped,
    });
    sealedSoFar += sealed;
    if (sealed > 0) log({ event: "cloud.bodies_sealed", bodies: sealed });
    if (!isUnfinished) nextSealing = now + SEALING_INTERVAL_MS;
    return !isUnfinished;
  }

  return {
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}
