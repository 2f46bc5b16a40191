import type { Clock } from "../../core/ports/clock.ts";
import type { CloudLog } from "../../core/ports/cloud-log.ts";
import type { Millis } from "../../core/values/time.ts";
import { collectErrors } from "../collect-errors.ts";
import { continueErasures, type ErasureParts } from "../erasure/run-erasure.ts";
import { problemOf } from "../http/problem.ts";
import { sealingOf } from "../store/body-keys.ts";
import { listErasureTasks } from "../store/erasures.ts";
import { deleteExpiredStates } from "../store/limit-states.ts";
import { type SealingRun, sealOldBodies } from "../store/seal-old-bodies.ts";
import { endTask, type Task } from "../store/tasks.ts";
import { PURGE_MAX_STEPS, type PurgeParts, type PurgeReport, purgeEach } from "./run-purge.ts";

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

/** What the job needs. */
type JobParts = PurgeParts &
  Pick<ErasureParts, "sha256" | "randomBytes"> & {
    readonly clock: Pick<Clock, "now" | "setTimer">;
    readonly log: CloudLog;
  };

/** The state of a job. */
interface JobState {
  readonly parts: JobParts;
  readonly purged: () => Promise<void>;
  isStopped: boolean;
  /** When bodies in clear are searched for again. */
  nextSealing: Millis;
  /** How many bodies were encrypted since `purged` was called. */
  sealedSoFar: number;
}

/**
 * Starts a job that erases what is due, finishes interrupted erasures and encrypts old bodies, hourly, for a few seconds at a time. Several
 * processes may each run one. Calls `purged` after a run that erased something, after erasures of prompts by a
 * page, a command or a restore, and once no body in clear is left.
 */
export function startPurgeJob(parts: JobParts, purged: () => Promise<void> = async () => {}): PurgeJob {
  const state: JobState = { parts, purged, isStopped: false, nextSealing: 0, sealedSoFar: 0 };
  let running: Promise<void> = Promise.resolve();
  let cancel = parts.clock.setTimer(FIRST_RUN_MS, tick);

  function tick(): void {
    running = run(state).then((nextMs) => {
      if (!state.isStopped) cancel = parts.clock.setTimer(nextMs, tick);
    });
  }

  return {
    async stop() {
      state.isStopped = true;
      cancel();
      await running;
    },
  };
}

/** Runs once. A step that fails does not hold up the others. Returns the time to the next run, in milliseconds. */
async function run(state: JobState): Promise<number> {
  const { parts } = state;
  const { errors, attempt } = collectErrors();
  await attempt(() => deleteExpiredStates(parts.db, parts.clock.now()));
  const erasures: Task<"erase_prompts">[] = [];
  await attempt(async () => {
    for (const task of await listErasureTasks(parts.db, parts.clock.now())) {
      const isErased = await attempt(async () => {
        await continueErasures({ ...parts, bodyKeys: parts.bodyKeys ?? null }, [task]);
      });
      if (isErased) erasures.push(task);
    }
  });
  const report = await purgeEach(parts, { maxSteps: PURGE_MAX_STEPS, isStopped: () => state.isStopped });
  logPurged(parts, report);
  let isSealing = false;
  const isSealed = await attempt(async () => {
    isSealing = !(await seal(state, attempt));
  });
  const isRewritten = isSealed && !isSealing && state.sealedSoFar > 0;
  if (isRewritten) state.sealedSoFar = 0;
  await attempt(async () => {
    if (erasures.length > 0 || report.erased.length > 0 || isRewritten) await state.purged();
    for (const task of erasures) await endTask(parts.db, task);
  });
  const [error] = [...errors, ...report.errors];
  if (error !== undefined) {
    const { reason, code } = problemOf(error);
    parts.log({ event: "cloud.purge_failed", reason, code });
  }
  return report.left.length > 0 || isSealing ? UNFINISHED_MS : INTERVAL_MS;
}

function logPurged({ log }: Pick<JobParts, "log">, { erased, left, rows }: PurgeReport): void {
  if (rows === 0 && erased.length === 0) return;
  const count = (kind: string) => erased.filter((subject) => subject.kind === kind).length;
  log({
    event: "cloud.purged",
    workspaces: count("workspace"),
    organisations: count("organisation"),
    accounts: count("account"),
    left: left.length,
    rows,
  });
}

/** Encrypts some of the bodies that are stored in clear. Returns whether none is left, besides those that failed. */
async function seal(state: JobState, attempt: SealingRun["attempt"]): Promise<boolean> {
  const { parts } = state;
  const sealing = sealingOf(parts);
  const now = parts.clock.now();
  if (sealing === null || now < state.nextSealing) return true;
  const { sealed, isUnfinished } = await sealOldBodies(parts.db, sealing, now, {
    maxRequests: SEALED_PER_RUN,
    isStopped: () => state.isStopped,
    attempt,
  });
  state.sealedSoFar += sealed;
  if (sealed > 0) parts.log({ event: "cloud.bodies_sealed", bodies: sealed });
  if (!isUnfinished) state.nextSealing = now + SEALING_INTERVAL_MS;
  return !isUnfinished;
}
