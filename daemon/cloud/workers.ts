import type { Driver } from "../../core/ports/driver.ts";
import type { ResumeReport, SyncEvent, SyncReport, SyncState } from "../../core/sync/mod.ts";
import type { UploaderEvent, UploaderState } from "../../core/uploader/mod.ts";
import { createUploaderDriver, type UploadCounts } from "./body-uploader.ts";
import { loadUploaderState } from "./machine-states.ts";
import type { CloudServicePorts } from "./ports.ts";
import { createSyncDriver } from "./sync-worker.ts";
import { createWorker, type Worker } from "./worker.ts";

/** Both workers, linked: what the metadata machine says of the uploader reaches it. */
export interface CloudWorkers {
  readonly sync: Worker<SyncState, SyncEvent>;
  readonly uploader: Worker<UploaderState, UploaderEvent>;
  /** What the uploader has done since the process began. */
  readonly counts: Readonly<UploadCounts>;
  /** Asks for a run and waits for its report. */
  requestSync(): Promise<SyncReport>;
  requestResume(): Promise<ResumeReport>;
  /** The operator's pause; resolves when it holds, whatever is still in flight. */
  requestPause(): Promise<void>;
  /** One pass over the pending legs; gives the uploader's state behind it. */
  requestPass(): Promise<UploaderState>;
}

/** Makes the workers. */
export function createCloudWorkers(ports: CloudServicePorts): CloudWorkers {
  const counts: UploadCounts = { uploaded: 0, quarantined: 0 };
  const syncWaiters = new Set<(report: SyncReport) => void>();
  const resumeWaiters = new Set<(report: ResumeReport) => void>();
  const pauseWaiters = new Set<(paused: true) => void>();
  const answer = <Report>(waiters: Set<(report: Report) => void>, report: Report) => {
    for (const resolve of waiters) resolve(report);
    waiters.clear();
  };

  const uploader = createWorker<UploaderState, UploaderEvent>(async (cancelled) => {
    const { enabled } = (await ports.settings()).cloud.bodies;
    const driver = createUploaderDriver(ports, counts, cancelled);
    return { driver, first: { kind: "started", enabled, random: ports.random() } };
  });
  const sync = createWorker<SyncState, SyncEvent>(async (cancelled) => {
    const driver = createSyncDriver(
      ports,
      {
        pauseUploader: async () => {
          await uploader.tell({ kind: "pause_requested" });
          // The uploader is told after the new state was saved.
          answer(pauseWaiters, true);
        },
        resumeUploader: () => uploader.tell({ kind: "resume_requested" }),
        clearUploader: () => uploader.tell({ kind: "credentials_confirmed" }),
        reportResume: (report) => answer(resumeWaiters, report),
        reportSync: (report) => answer(syncWaiters, report),
      },
      cancelled,
    );
    return { driver, first: { kind: "started", random: ports.random() } };
  });

  /** Dispatches and waits for the report, or for the end of a driver that can give none any more. */
  async function ask<Report>(
    driver: Driver<SyncState, SyncEvent>,
    ended: Promise<void>,
    event: SyncEvent,
    waiters: Set<(report: Report) => void>,
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

  return {
    sync,
    uploader,
    counts,
    requestSync: () =>
      sync.use((driver, ended) => ask(driver, ended, { kind: "sync_requested" }, syncWaiters)),
    requestResume: () =>
      sync.use((driver, ended) => ask(driver, ended, { kind: "resume_requested" }, resumeWaiters)),
    requestPause: () =>
      sync.use(async (driver, ended) => {
        // Where another pause holds already, the request changes nothing and nothing is told.
        if (driver.state.status === "active")
          await ask(driver, ended, { kind: "pause_requested" }, pauseWaiters);
      }),
    requestPass: () =>
      uploader.use(async (driver) => {
        // After a failure the uploader goes on behind the leg that failed: a second pass comes to what lies before.
        const { cursor, consecutiveFailures } = loadUploaderState(ports.store);
        const passes = cursor === null ? 1 : 2;
        for (let pass = 1; pass <= passes; pass += 1) {
          driver.dispatch({ kind: "sync_requested" });
          await driver.idle();
          if (driver.state.consecutiveFailures > consecutiveFailures) break;
        }
        return driver.state;
      }),
  };
}
