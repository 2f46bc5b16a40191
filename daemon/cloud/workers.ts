import type { ResumeReport, SyncEvent, SyncReport } from "../../core/delivery/sync/sync-events.ts";
import type { SyncState } from "../../core/delivery/sync/sync-state.ts";
import type { UploaderEvent } from "../../core/delivery/uploader/uploader-events.ts";
import type { UploaderState } from "../../core/delivery/uploader/uploader-state.ts";
import type { Driver } from "../../core/ports/driver.ts";
import { createUploaderDriver, type UploadCounts } from "./body-uploader.ts";
import { loadUploaderState } from "./machine-states.ts";
import type { CloudServicePorts } from "./ports.ts";
import { createSyncDriver } from "./sync-worker.ts";
import { saveSettingWhileOff } from "./upload-watermark.ts";
import { createWorker, type Worker } from "./worker.ts";

/** The sync worker and the body uploader. The sync machine's effects on the uploader are dispatched to it. */
export interface CloudWorkers {
  readonly sync: Worker<SyncState, SyncEvent>;
  readonly uploader: Worker<UploaderState, UploaderEvent>;
  /** What the uploader has done since the process started. */
  readonly counts: Readonly<UploadCounts>;
  /** Requests a run and waits for its report. */
  requestSync(): Promise<SyncReport>;
  requestResume(): Promise<ResumeReport>;
  /** Requests a manual pause. Resolves when it is in force, even if a request is in flight. */
  requestPause(): Promise<void>;
  /** Requests a pass over the pending bodies. Resolves with the uploader's state and whether sending failed in it. */
  requestPass(): Promise<{ readonly state: UploaderState; readonly isFailed: boolean }>;
}

type Waiters<Report> = Set<(report: Report) => void>;

/** The requests that wait for a report of the sync machine. */
interface SyncWaiters {
  readonly sync: Waiters<SyncReport>;
  readonly resume: Waiters<ResumeReport>;
  readonly pause: Waiters<true>;
}

/** Creates the workers. */
export function createCloudWorkers(ports: CloudServicePorts): CloudWorkers {
  const counts: UploadCounts = { uploaded: 0, quarantined: 0 };
  const waiters: SyncWaiters = { sync: new Set(), resume: new Set(), pause: new Set() };
  const uploader = createUploader(ports, counts);
  const sync = createSync(ports, uploader, waiters);
  return {
    sync,
    uploader,
    counts,
    requestSync: () =>
      sync.use((driver, ended) => dispatchAndWait(driver, ended, { kind: "sync_requested" }, waiters.sync)),
    requestResume: () =>
      sync.use((driver, ended) =>
        dispatchAndWait(driver, ended, { kind: "resume_requested" }, waiters.resume),
      ),
    requestPause: () =>
      sync.use(async (driver, ended) => {
        // During another pause the request has no effect, and no report follows.
        if (driver.state.status === "active")
          await dispatchAndWait(driver, ended, { kind: "pause_requested" }, waiters.pause);
      }),
    requestPass: () => uploader.use((driver) => runPass(ports, driver)),
  };
}

function createUploader(
  ports: CloudServicePorts,
  counts: UploadCounts,
): Worker<UploaderState, UploaderEvent> {
  return createWorker(async (cancelled) => {
    const { enabled, uploadFrom } = (await ports.settings()).cloud.bodies;
    if (!enabled) saveSettingWhileOff(ports.store.notes, uploadFrom);
    const driver = createUploaderDriver(ports, counts, cancelled);
    return { driver, first: { kind: "started", enabled, random: ports.random() } };
  });
}

function createSync(
  ports: CloudServicePorts,
  uploader: Worker<UploaderState, UploaderEvent>,
  waiters: SyncWaiters,
): Worker<SyncState, SyncEvent> {
  const hooks = {
    async pauseUploader() {
      await uploader.dispatch({ kind: "pause_requested" });
      // The sync machine saves its new state before this effect, so the pause is in force.
      resolveAll(waiters.pause, true);
    },
    resumeUploader: () => uploader.dispatch({ kind: "resume_requested" }),
    clearUploader: () => uploader.dispatch({ kind: "credentials_confirmed" }),
    reportResume: (report: ResumeReport) => resolveAll(waiters.resume, report),
    reportSync: (report: SyncReport) => resolveAll(waiters.sync, report),
  };
  return createWorker(async (cancelled) => ({
    driver: createSyncDriver(ports, hooks, cancelled),
    first: { kind: "started", random: ports.random() },
  }));
}

function resolveAll<Report>(waiters: Waiters<Report>, report: Report): void {
  for (const resolve of waiters) resolve(report);
  waiters.clear();
}

/** Dispatches the event and waits for its report. Rejects if the driver ends before. */
async function dispatchAndWait<Report>(
  driver: Driver<SyncState, SyncEvent>,
  ended: Promise<void>,
  event: SyncEvent,
  waiters: Waiters<Report>,
): Promise<Report> {
  const reported = Promise.withResolvers<Report>();
  waiters.add(reported.resolve);
  driver.dispatch(event);
  const over = ended.then(() => {
    throw new Error("the worker was stopped before it could answer");
  });
  try {
    return await Promise.race([reported.promise, over]);
  } finally {
    waiters.delete(reported.resolve);
  }
}

async function runPass(
  { store }: CloudServicePorts,
  driver: Driver<UploaderState, UploaderEvent>,
): Promise<{ state: UploaderState; isFailed: boolean }> {
  // After a failure the uploader continues behind the failed body, so a second pass is needed for those before it.
  const { cursor, sendNumber } = loadUploaderState(store);
  const passes = cursor === null ? 1 : 2;
  // A success clears the error and a failure ends the pass, so an error is that of the last attempt.
  const isFailed = () => driver.state.lastError !== null && driver.state.sendNumber > sendNumber;
  for (let pass = 1; pass <= passes && !isFailed(); pass += 1) {
    driver.dispatch({ kind: "sync_requested" });
    await driver.idle();
  }
  return { state: driver.state, isFailed: isFailed() };
}
