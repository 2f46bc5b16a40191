import { runTable, type Table } from "../machine.ts";
import { delayAfterStart, describeAnswer, quietDelay } from "../retry/mod.ts";
import type { Millis } from "../time.ts";
import { judgeBatch } from "./batch-verdict.ts";
import type { ResumeReport, SyncEffect, SyncEvent } from "./sync-events.ts";
import { fillRun } from "./sync-run.ts";
import type { SyncState } from "./sync-state.ts";
import {
  answerBatch,
  continueRun,
  pausedLog,
  reportOf,
  type SyncStep,
  scheduleTick,
  settleEffects,
  startRun,
} from "./sync-steps.ts";

type EventOf<K extends SyncEvent["kind"]> = Extract<SyncEvent, { readonly kind: K }>;
type WhoamiAnswered = EventOf<"whoami_answered">;

const nothing: readonly SyncEffect[] = [];

/** The metadata machine, row by row. Source: contract, "Daemon metadata sync". */
export const syncTable: Table<SyncState, SyncEvent, SyncEffect> = {
  active: {
    started: { to: { active: "tick, or what is left of a backoff" }, run: startActive },
    tick_due: { to: { active: "a run begins or goes on" }, run: (state, _, now) => tick(state, now) },
    sync_requested: { to: { active: "at once, unless Retry-After holds" }, run: requestSync },
    records_found: { to: { active: "first batch" }, run: sendFound },
    batch_answered: {
      to: {
        active: "200, or a failure with backoff",
        paused_unauthorised: "401",
        paused_forbidden: "403",
      },
      run: takeAnswer,
    },
    pause_requested: { to: { paused_manual: "meter cloud pause" }, run: pause },
    resume_requested: { to: { active: "whoami is asked" }, run: askWhoami },
    whoami_answered: { to: { active: "200 clears the counters" }, run: answerWhoami },
    credentials_replaced: { to: { active: "counters cleared" }, run: replaceCredentials },
    uploader_cleared: { to: { active: "noted" }, run: noteUploaderCleared },
  },
  paused_manual: {
    started: { to: { paused_manual: "stays, uploader too" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: { to: { paused_manual: "refused" }, run: refuseSync },
    records_found: "ignored",
    batch_answered: { to: { paused_manual: "answer in flight is honoured" }, run: honourAnswer },
    pause_requested: "ignored",
    resume_requested: { to: { active: "meter cloud resume, always" }, run: resumeManual },
    whoami_answered: "ignored",
    credentials_replaced: { to: { paused_manual: "counters cleared" }, run: keepManualPause },
    uploader_cleared: { to: { paused_manual: "noted" }, run: noteUploaderCleared },
  },
  paused_unauthorised: {
    started: { to: { paused_unauthorised: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: { to: { paused_unauthorised: "refused" }, run: refuseSync },
    records_found: "ignored",
    batch_answered: "ignored",
    pause_requested: "ignored",
    resume_requested: { to: { paused_unauthorised: "whoami is asked" }, run: askWhoami },
    whoami_answered: {
      to: { active: "200 clears both tables", paused_unauthorised: "401, 403, failure" },
      run: answerWhoami,
    },
    credentials_replaced: { to: { active: "re-paired" }, run: replaceCredentials },
    uploader_cleared: { to: { paused_unauthorised: "noted" }, run: noteUploaderCleared },
  },
  paused_forbidden: {
    started: { to: { paused_forbidden: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: { to: { paused_forbidden: "refused" }, run: refuseSync },
    records_found: "ignored",
    batch_answered: "ignored",
    pause_requested: "ignored",
    resume_requested: { to: { paused_forbidden: "whoami is asked" }, run: askWhoami },
    whoami_answered: {
      to: { active: "200 clears both tables", paused_forbidden: "401, 403, failure" },
      run: answerWhoami,
    },
    credentials_replaced: { to: { active: "re-paired" }, run: replaceCredentials },
    uploader_cleared: { to: { paused_forbidden: "noted" }, run: noteUploaderCleared },
  },
  paused_other: {
    started: { to: { paused_other: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: { to: { paused_other: "refused" }, run: refuseSync },
    records_found: "ignored",
    batch_answered: "ignored",
    pause_requested: "ignored",
    resume_requested: { to: { paused_other: "whoami is asked" }, run: askWhoami },
    whoami_answered: {
      to: { active: "200 clears both tables", paused_other: "401, 403, failure" },
      run: answerWhoami,
    },
    credentials_replaced: { to: { active: "re-paired" }, run: replaceCredentials },
    uploader_cleared: { to: { paused_other: "noted" }, run: noteUploaderCleared },
  },
};

/** The metadata machine. */
export function syncTransition(state: SyncState, event: SyncEvent, now: Millis): SyncStep {
  return runTable(syncTable, state, event, now);
}

/** A crash lost the run, the timers and whoever waited; records that were in flight are found and sent again. */
function startActive(state: SyncState, event: EventOf<"started">, now: Millis): SyncStep {
  const next = scheduleTick(
    { ...state, run: null, resuming: false },
    delayAfterStart(state, event.random, now),
    now,
  );
  return {
    state: next.state,
    // A resume from `paused_manual` may have been lost after it was saved; to an uploader that runs it means nothing.
    effects: [...owedClear(state), { kind: "resume_uploader" }, ...next.effects],
  };
}

/** Source: contract, "Events": `cloud.worker.sync_paused`. */
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
      // While the operator's pause holds, a clearing that is owed waits for the resume.
      ...(state.status === "paused_manual" ? [{ kind: "pause_uploader" } as const] : owedClear(state)),
    ],
  };
}

function owedClear(state: SyncState): readonly SyncEffect[] {
  return state.uploaderClearDue ? [{ kind: "clear_uploader_state" }] : nothing;
}

function tick(state: SyncState, now: Millis): SyncStep {
  if (state.run === null) return startRun(state, false, now);
  if (state.run.phase !== "waiting") return { state, effects: nothing };
  return continueRun({ ...state, lastTickAt: now }, state.run, now);
}

/** Decision: a request goes before the own backoff, but not before the time that the cloud asked for. */
function requestSync(state: SyncState, _: EventOf<"sync_requested">, now: Millis): SyncStep {
  const quiet = quietDelay(state, now);
  if (quiet > 0) {
    const message = `the cloud asked to wait ${Math.ceil(quiet / 1000)} s`;
    return { state, effects: [refusal("retry_after", message)] };
  }
  if (state.run === null) return startRun(state, true, now);
  const run = { ...state.run, requested: true };
  if (run.phase !== "waiting") return { state: { ...state, run }, effects: nothing };
  const next = continueRun({ ...state, lastTickAt: now }, run, now);
  return { state: next.state, effects: [{ kind: "clear_timer", timer: "tick" }, ...next.effects] };
}

function refuseSync(state: SyncState): SyncStep {
  return { state, effects: [refusal("paused", `sync is paused: ${state.pausedReason}`)] };
}

function refusal(reason: "paused" | "retry_after", message: string): SyncEffect {
  return {
    kind: "report_sync",
    report: { ok: false, reason, message, accepted: 0, duplicates: 0, quarantined: 0 },
  };
}

function sendFound(state: SyncState, event: EventOf<"records_found">, now: Millis): SyncStep {
  if (state.run?.phase !== "selecting") return { state, effects: nothing };
  return continueRun(state, fillRun(state.run, event.requestIds), now);
}

function takeAnswer(state: SyncState, event: EventOf<"batch_answered">, now: Millis): SyncStep {
  const { run } = state;
  if (run?.phase !== "sending" || event.batchNumber !== state.batchNumber) return { state, effects: nothing };
  return answerBatch(state, run, event.answer, event.random, now);
}

/** Decision: the operator's pause stays what it is, whatever the answer says; a 401 comes again after the resume. */
function honourAnswer(state: SyncState, event: EventOf<"batch_answered">, now: Millis): SyncStep {
  const { run } = state;
  if (run === null || event.batchNumber !== state.batchNumber) return { state, effects: nothing };
  const verdict = judgeBatch(event.answer, run.inFlight);
  if (verdict.kind === "settled") {
    return { state: { ...state, run: null }, effects: settleEffects(verdict, verdict.rejected, now) };
  }
  return { state: { ...state, run: null, lastError: verdict.error, lastErrorAt: now }, effects: nothing };
}

/** Source: decisions, "Daemon": a pause acts at once on what has not been sent; an answer in flight is still honoured. */
function pause(state: SyncState): SyncStep {
  const { run } = state;
  return {
    state: {
      ...state,
      status: "paused_manual",
      pausedReason: "paused_manual",
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
 * Source: contract, "Daemon metadata sync": paused_manual is cleared immediately. Decision: with the counters and the last
 * error, as after every resume: what was wrong before the pause is found out anew at once.
 */
function resumeManual(state: SyncState, _: EventOf<"resume_requested">, now: Millis): SyncStep {
  const next = activate(state, now);
  return {
    state: next.state,
    effects: [
      ...owedClear(state),
      { kind: "resume_uploader" },
      reportResume({ ok: true, reason: "resumed", httpStatus: null, message: "sync is active" }),
      ...next.effects,
    ],
  };
}

/** Decision: also while active, where it clears what the uploader is paused for. */
function askWhoami(state: SyncState): SyncStep {
  return { state: { ...state, resuming: true }, effects: [{ kind: "ask_whoami" }] };
}

function answerWhoami(state: SyncState, event: WhoamiAnswered, now: Millis): SyncStep {
  if (!state.resuming) return { state, effects: nothing };
  const { answer } = event;
  if (answer.kind === "http" && answer.status === 200) {
    const next = activate({ ...state, uploaderClearDue: true }, now);
    const report = { ok: true, reason: "resumed", httpStatus: 200, message: "sync is active" } as const;
    return {
      state: next.state,
      effects: [{ kind: "clear_uploader_state" }, reportResume(report), ...next.effects],
    };
  }
  return { state: { ...state, resuming: false }, effects: [reportResume(refusedResume(answer))] };
}

function refusedResume(answer: WhoamiAnswered["answer"]): ResumeReport {
  const status = answer.kind === "http" ? answer.status : null;
  if (status === 401) {
    const message = "the key is invalid: pair this machine again with `meter cloud connect`";
    return { ok: false, reason: "key_invalid", httpStatus: status, message };
  }
  if (status === 403) {
    const message = "this machine is not permitted: ask the owner to re-invite this machine, then resume";
    return { ok: false, reason: "machine_forbidden", httpStatus: status, message };
  }
  const message = `the key could not be checked (${describeAnswer(answer)}): nothing changed, try again`;
  return { ok: false, reason: "unconfirmed", httpStatus: status, message };
}

function reportResume(report: ResumeReport): SyncEffect {
  return { kind: "report_resume", report };
}

/** Active, with pause, counters and last error cleared, and a tick as soon as the cloud allows one. */
function activate(state: SyncState, now: Millis): SyncStep {
  return scheduleTick(
    {
      ...state,
      status: "active",
      pausedReason: null,
      consecutiveFailures: 0,
      lastError: null,
      lastErrorAt: null,
      resuming: false,
    },
    quietDelay(state, now),
    now,
  );
}

/** What was in flight went out under the old key: its answer is stale, and its records are sent again. */
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

/** Decision: a new key is no word against the operator's own pause. */
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
    effects: nothing,
  };
}

function noteUploaderCleared(state: SyncState): SyncStep {
  return { state: { ...state, uploaderClearDue: false }, effects: nothing };
}
