import { runTable, type Table } from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";
import { firstTickDelay, remainingRetryAfter } from "../retry/backoff-delay.ts";
import { describeResult } from "../retry/cloud-result.ts";
import { decideBatch } from "./batch-verdict.ts";
import type { ResumeReport, SyncEffect, SyncEvent } from "./sync-events.ts";
import { fillRun } from "./sync-run.ts";
import type { SyncState, SyncStatus } from "./sync-state.ts";
import {
  applyBatchResult,
  continueRun,
  pausedLog,
  recordOutcomes,
  reportOf,
  type SyncStep,
  scheduleTick,
  startRun,
} from "./sync-steps.ts";

type EventOf<K extends SyncEvent["kind"]> = Extract<SyncEvent, { readonly kind: K }>;
type WhoamiAnswered = EventOf<"whoami_answered">;

const noEffects: readonly SyncEffect[] = [];

/** The problem code of a workspace that is deleted. Source: docs/specification.md#cloud-accounts-and-keys. */
export const WORKSPACE_DELETED = "workspace_deleted";

/** The row of a pause that only a confirmed key ends. */
function pausedByCloudRow<S extends Exclude<SyncStatus, "active" | "paused_manual">>(status: S) {
  return {
    started: { to: { [status]: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: { to: { [status]: "refused" }, run: refuseSync },
    records_found: "ignored",
    batch_answered: "ignored",
    pause_requested: "ignored",
    resume_requested: { to: { [status]: "whoami is requested" }, run: requestWhoami },
    whoami_answered: {
      to: { active: "200 clears both tables", [status]: "401, 403, failure" },
      run: handleWhoamiResult,
    },
    credentials_replaced: { to: { active: "re-paired" }, run: replaceCredentials },
    uploader_cleared: { to: { [status]: "recorded" }, run: confirmUploaderCleared },
  } as const;
}

/** The metadata machine, row by row. Source: docs/specification.md#metadata-sync. */
export const syncTable: Table<SyncState, SyncEvent, SyncEffect> = {
  active: {
    started: { to: { active: "tick, or the rest of a backoff" }, run: startActive },
    tick_due: { to: { active: "a run starts or continues" }, run: (state, _, now) => tick(state, now) },
    sync_requested: { to: { active: "at once, unless Retry-After holds" }, run: requestSync },
    records_found: { to: { active: "next batch" }, run: handleRecordsFound },
    batch_answered: {
      to: {
        active: "200, or a failure with backoff",
        paused_unauthorised: "401",
        paused_forbidden: "403",
      },
      run: handleBatchResult,
    },
    pause_requested: { to: { paused_manual: "meter cloud pause" }, run: pause },
    resume_requested: { to: { active: "whoami is requested" }, run: requestWhoami },
    whoami_answered: { to: { active: "200 clears the counters" }, run: handleWhoamiResult },
    credentials_replaced: { to: { active: "counters cleared" }, run: replaceCredentials },
    uploader_cleared: { to: { active: "recorded" }, run: confirmUploaderCleared },
  },
  paused_manual: {
    started: { to: { paused_manual: "stays, uploader too" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: { to: { paused_manual: "refused" }, run: refuseSync },
    records_found: "ignored",
    batch_answered: { to: { paused_manual: "response in flight is applied" }, run: applyLateResult },
    pause_requested: "ignored",
    resume_requested: { to: { active: "meter cloud resume, always" }, run: resumeManual },
    whoami_answered: "ignored",
    credentials_replaced: { to: { paused_manual: "counters cleared" }, run: keepManualPause },
    uploader_cleared: { to: { paused_manual: "recorded" }, run: confirmUploaderCleared },
  },
  paused_unauthorised: pausedByCloudRow("paused_unauthorised"),
  paused_forbidden: pausedByCloudRow("paused_forbidden"),
  paused_other: pausedByCloudRow("paused_other"),
};

/** The metadata machine. */
export function syncTransition(state: SyncState, event: SyncEvent, now: Millis): SyncStep {
  return runTable(syncTable, state, event, now);
}

/** A crash lost the run, the timers and any waiting command. Records that were in flight are selected and sent again. */
function startActive(state: SyncState, event: EventOf<"started">, now: Millis): SyncStep {
  const next = scheduleTick(
    { ...state, run: null, resuming: false },
    firstTickDelay(state, event.random, now),
    now,
  );
  return {
    state: next.state,
    // A crash may have lost this effect of a saved resume from `paused_manual`. A running uploader ignores it.
    effects: [...pendingClear(state), { kind: "resume_uploader" }, ...next.effects],
  };
}

/** Source: docs/specification.md#log-events: `cloud.worker.sync_paused`. */
function startPaused(state: SyncState): SyncStep {
  return {
    state: { ...state, run: null, resuming: false },
    effects: [
      {
        kind: "log",
        level: "warn",
        event: "cloud.worker.sync_paused",
        fields: { reason: state.pausedReason },
      },
      // During a manual pause, a pending clear waits for the resume.
      ...(state.status === "paused_manual" ? [{ kind: "pause_uploader" } as const] : pendingClear(state)),
    ],
  };
}

function pendingClear(state: SyncState): readonly SyncEffect[] {
  return state.uploaderClearDue ? [{ kind: "clear_uploader_state" }] : noEffects;
}

function tick(state: SyncState, now: Millis): SyncStep {
  if (state.run === null) return startRun(state, false, now);
  if (state.run.phase !== "waiting") return { state, effects: noEffects };
  return continueRun({ ...state, lastTickAt: now }, state.run, now);
}

/** Decision: a request overrides the backoff, but not the cloud's `Retry-After`. */
function requestSync(state: SyncState, _: EventOf<"sync_requested">, now: Millis): SyncStep {
  const waitMs = remainingRetryAfter(state, now);
  if (waitMs > 0) {
    const message = `the cloud asked to wait ${Math.ceil(waitMs / 1000)} s`;
    return { state, effects: [syncRefused("retry_after", message)] };
  }
  if (state.run === null) return startRun(state, true, now);
  const run = { ...state.run, requested: true };
  if (run.phase !== "waiting") return { state: { ...state, run }, effects: noEffects };
  const next = continueRun({ ...state, lastTickAt: now }, run, now);
  return { state: next.state, effects: [{ kind: "clear_timer", timer: "tick" }, ...next.effects] };
}

function refuseSync(state: SyncState): SyncStep {
  return { state, effects: [syncRefused("paused", `sync is paused: ${state.pausedReason}`)] };
}

function syncRefused(reason: "paused" | "retry_after", message: string): SyncEffect {
  return {
    kind: "report_sync",
    report: { ok: false, reason, message, accepted: 0, duplicates: 0, quarantined: 0 },
  };
}

function handleRecordsFound(state: SyncState, event: EventOf<"records_found">, now: Millis): SyncStep {
  if (state.run?.phase !== "selecting") return { state, effects: noEffects };
  return continueRun(state, fillRun(state.run, event.requestIds), now);
}

function handleBatchResult(state: SyncState, event: EventOf<"batch_answered">, now: Millis): SyncStep {
  const { run } = state;
  if (run?.phase !== "sending" || event.batchNumber !== state.batchNumber)
    return { state, effects: noEffects };
  return applyBatchResult(state, run, event.result, event.random, now);
}

/** Decision: no late result changes a manual pause. A 401 will be returned again after the resume. */
function applyLateResult(state: SyncState, event: EventOf<"batch_answered">, now: Millis): SyncStep {
  const { run } = state;
  if (run === null || event.batchNumber !== state.batchNumber) return { state, effects: noEffects };
  const verdict = decideBatch(event.result, run.inFlight);
  if (verdict.kind === "settled") {
    return { state: { ...state, run: null }, effects: recordOutcomes(verdict, verdict.rejected, now) };
  }
  return { state: { ...state, run: null, lastError: verdict.error, lastErrorAt: now }, effects: noEffects };
}

/** Source: docs/specification.md#metadata-sync: a pause stops unsent batches at once; a response in flight is still applied. */
function pause(state: SyncState): SyncStep {
  const { run } = state;
  return {
    state: {
      ...state,
      status: "paused_manual",
      pausedReason: "paused_manual",
      pausedCode: null,
      run: run?.phase === "sending" ? { ...run, queue: [], suspects: [], requested: false } : null,
      resuming: false,
      nextTickAt: null,
    },
    effects: [
      { kind: "clear_timer", timer: "tick" },
      { kind: "pause_uploader" },
      pausedLog("paused_manual", null, run),
      ...reportOf(run, false, "paused", "sync is paused: paused_manual"),
    ],
  };
}

/**
 * Source: docs/specification.md#metadata-sync: paused_manual is cleared immediately. Decision: the counters and the last error
 * are cleared too, as after every resume. A problem from before the pause will show again at once.
 */
function resumeManual(state: SyncState, _: EventOf<"resume_requested">, now: Millis): SyncStep {
  const next = activate(state, now);
  return {
    state: next.state,
    effects: [
      ...pendingClear(state),
      { kind: "resume_uploader" },
      reportResume({ ok: true, reason: "resumed", httpStatus: null, message: "sync is active" }),
      ...next.effects,
    ],
  };
}

/** Decision: also while active, since it then clears the uploader's pause. */
function requestWhoami(state: SyncState): SyncStep {
  return { state: { ...state, resuming: true }, effects: [{ kind: "request_whoami" }] };
}

function handleWhoamiResult(state: SyncState, event: WhoamiAnswered, now: Millis): SyncStep {
  if (!state.resuming) return { state, effects: noEffects };
  const { result } = event;
  if (result.kind === "http" && result.status === 200) {
    const next = activate({ ...state, uploaderClearDue: true }, now);
    const report = { ok: true, reason: "resumed", httpStatus: 200, message: "sync is active" } as const;
    return {
      state: next.state,
      effects: [{ kind: "clear_uploader_state" }, reportResume(report), ...next.effects],
    };
  }
  return { state: { ...state, resuming: false }, effects: [reportResume(resumeFailure(result))] };
}

function resumeFailure(result: WhoamiAnswered["result"]): ResumeReport {
  const status = result.kind === "http" ? result.status : null;
  if (result.kind === "http" && result.code === WORKSPACE_DELETED) {
    const message =
      "the workspace was deleted: pair this machine with another workspace with `meter cloud connect`";
    return { ok: false, reason: "workspace_deleted", httpStatus: status, message };
  }
  if (status === 401) {
    const message = "the key is invalid: pair this machine again with `meter cloud connect`";
    return { ok: false, reason: "key_invalid", httpStatus: status, message };
  }
  if (status === 403) {
    const message = "this machine is not permitted: ask the owner to re-invite this machine, then resume";
    return { ok: false, reason: "machine_forbidden", httpStatus: status, message };
  }
  const message = `the key could not be checked (${describeResult(result)}): nothing changed, try again`;
  return { ok: false, reason: "unconfirmed", httpStatus: status, message };
}

function reportResume(report: ResumeReport): SyncEffect {
  return { kind: "report_resume", report };
}

/** Activates the machine: clears pause, counters and last error, and ticks as soon as `Retry-After` allows. */
function activate(state: SyncState, now: Millis): SyncStep {
  return scheduleTick(
    {
      ...state,
      status: "active",
      pausedReason: null,
      pausedCode: null,
      consecutiveFailures: 0,
      lastError: null,
      lastErrorAt: null,
      resuming: false,
    },
    remainingRetryAfter(state, now),
    now,
  );
}

/** The batch in flight was sent with the old key: its result is stale, and its records are sent again. */
function replaceCredentials(state: SyncState, _: EventOf<"credentials_replaced">, now: Millis): SyncStep {
  const next = activate({ ...state, run: null, notBefore: null, uploaderClearDue: true }, now);
  return {
    state: next.state,
    effects: [
      { kind: "clear_uploader_state" },
      ...reportOf(state.run, false, "failed", "the credentials were replaced"),
      ...next.effects,
    ],
  };
}

/** Decision: new credentials do not end a manual pause. */
function keepManualPause(state: SyncState): SyncStep {
  return {
    state: {
      ...state,
      run: null,
      notBefore: null,
      consecutiveFailures: 0,
      lastError: null,
      lastErrorAt: null,
      uploaderClearDue: true,
    },
    effects: noEffects,
  };
}

function confirmUploaderCleared(state: SyncState): SyncStep {
  return { state: { ...state, uploaderClearDue: false }, effects: noEffects };
}
