import { runTable, type Table } from "../machine.ts";
import { delayAfterStart, quietDelay } from "../retry/mod.ts";
import type { Millis } from "../time.ts";
import { decideUpload } from "./upload-outcome.ts";
import {
  answerBody,
  BODY_PAGE_SIZE,
  continueRun,
  outcomeEffects,
  scheduleTick,
  startRun,
  type UploaderStep,
} from "./upload-steps.ts";
import type { UploaderEffect, UploaderEvent } from "./uploader-events.ts";
import type { UploaderState } from "./uploader-state.ts";

type EventOf<K extends UploaderEvent["kind"]> = Extract<UploaderEvent, { readonly kind: K }>;

const nothing: readonly UploaderEffect[] = [];

/** The body uploader, row by row. Source: contract, "Daemon body uploader". What one answer means stands in `decideUpload`. */
export const uploaderTable: Table<UploaderState, UploaderEvent, UploaderEffect> = {
  active: {
    started: { to: { active: "tick, or what is left of a backoff" }, run: startActive },
    tick_due: { to: { active: "a pass begins" }, run: tick },
    sync_requested: { to: { active: "at once, unless Retry-After holds" }, run: requestSync },
    body_sync_switched: { to: { active: "on: upload_from is stamped" }, run: switchActive },
    upload_from_stamped: { to: { active: "first tick" }, run: beginStamped },
    bodies_found: { to: { active: "first leg" }, run: sendFound },
    body_answered: {
      to: {
        active: "any other answer",
        paused_unauthorised: "401",
        paused_forbidden: "403",
      },
      run: takeAnswer,
    },
    pause_requested: { to: { paused_manual: "meter cloud pause" }, run: pause },
    resume_requested: "ignored",
    credentials_confirmed: { to: { active: "counters cleared" }, run: activate },
  },
  paused_manual: {
    started: { to: { paused_manual: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: "ignored",
    body_sync_switched: { to: { paused_manual: "on: upload_from is stamped" }, run: switchPaused },
    upload_from_stamped: { to: { paused_manual: "noted" }, run: noteStamped },
    bodies_found: "ignored",
    body_answered: { to: { paused_manual: "answer in flight is honoured" }, run: honourAnswer },
    pause_requested: "ignored",
    resume_requested: { to: { active: "meter cloud resume" }, run: resumeManual },
    credentials_confirmed: { to: { active: "cleared" }, run: activate },
  },
  paused_unauthorised: {
    started: { to: { paused_unauthorised: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: "ignored",
    body_sync_switched: { to: { paused_unauthorised: "on: upload_from is stamped" }, run: switchPaused },
    upload_from_stamped: { to: { paused_unauthorised: "noted" }, run: noteStamped },
    bodies_found: "ignored",
    body_answered: "ignored",
    pause_requested: "ignored",
    resume_requested: "ignored",
    credentials_confirmed: { to: { active: "whoami 200 or re-paired" }, run: activate },
  },
  paused_forbidden: {
    started: { to: { paused_forbidden: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: "ignored",
    body_sync_switched: { to: { paused_forbidden: "on: upload_from is stamped" }, run: switchPaused },
    upload_from_stamped: { to: { paused_forbidden: "noted" }, run: noteStamped },
    bodies_found: "ignored",
    body_answered: "ignored",
    pause_requested: "ignored",
    resume_requested: "ignored",
    credentials_confirmed: { to: { active: "whoami 200 or re-paired" }, run: activate },
  },
  paused_other: {
    started: { to: { paused_other: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: "ignored",
    body_sync_switched: { to: { paused_other: "on: upload_from is stamped" }, run: switchPaused },
    upload_from_stamped: { to: { paused_other: "noted" }, run: noteStamped },
    bodies_found: "ignored",
    body_answered: "ignored",
    pause_requested: "ignored",
    resume_requested: "ignored",
    credentials_confirmed: { to: { active: "whoami 200 or re-paired" }, run: activate },
  },
};

/** The body uploader's machine. */
export function uploaderTransition(state: UploaderState, event: UploaderEvent, now: Millis): UploaderStep {
  return runTable(uploaderTable, state, event, now);
}

/** A crash lost the pass, the timer and perhaps the stamp; a leg that was in flight is still pending, and sent again. */
function startActive(state: UploaderState, event: EventOf<"started">, now: Millis): UploaderStep {
  const switched = switchPaused({ ...state, run: null }, { ...event, kind: "body_sync_switched" }, now);
  if (!isReady(switched.state)) return switched;
  return scheduleTick(switched.state, delayAfterStart(state, event.random, now), now);
}

function startPaused(state: UploaderState, event: EventOf<"started">, now: Millis): UploaderStep {
  return switchPaused({ ...state, run: null }, { ...event, kind: "body_sync_switched" }, now);
}

/** Whether anything may be selected. */
function isReady(state: UploaderState): boolean {
  return state.enabled && state.stampDueAt === null;
}

/**
 * Source: contract, "Daemon body uploader": switched from off to on, `upload_from` is stamped with the current time and
 * a notice printed. The instant stays owed in the state until the stamp is confirmed: a crash in between must not send
 * all history.
 */
function switchPaused(state: UploaderState, event: EventOf<"body_sync_switched">, now: Millis): UploaderStep {
  const { enabled } = event;
  if (!enabled) return { state: { ...state, enabled, stampDueAt: null }, effects: nothing };
  const stampDueAt = state.enabled ? state.stampDueAt : now;
  if (stampDueAt === null) return { state, effects: nothing };
  const from = new Date(stampDueAt).toISOString();
  const message = `body sync is on: bodies captured from ${from} are uploaded, earlier ones stay on this machine (see: meter cloud privacy set bodies.upload-from)`;
  return {
    state: { ...state, enabled, stampDueAt },
    effects: [
      { kind: "stamp_upload_from", at: stampDueAt },
      { kind: "print_notice", message },
    ],
  };
}

function switchActive(state: UploaderState, event: EventOf<"body_sync_switched">, now: Millis): UploaderStep {
  const next = switchPaused(state, event, now);
  if (event.enabled) return next;
  return {
    state: { ...next.state, run: unsentDropped(state.run), nextTickAt: null, cursor: null },
    effects: [{ kind: "clear_timer", timer: "tick" }],
  };
}

/** What has not been sent is dropped; the leg in flight keeps its place for the answer. */
function unsentDropped(run: UploaderState["run"]): UploaderState["run"] {
  return run?.phase === "sending" ? { ...run, page: [], full: false } : null;
}

function noteStamped(state: UploaderState): UploaderStep {
  return { state: { ...state, stampDueAt: null }, effects: nothing };
}

function beginStamped(state: UploaderState, _: EventOf<"upload_from_stamped">, now: Millis): UploaderStep {
  return begin({ ...state, stampDueAt: null }, now);
}

/** A tick as soon as the cloud allows one, where body sync is on. */
function begin(state: UploaderState, now: Millis): UploaderStep {
  return isReady(state) ? scheduleTick(state, quietDelay(state, now), now) : { state, effects: nothing };
}

function tick(state: UploaderState, _: unknown, now: Millis): UploaderStep {
  if (state.run !== null || !isReady(state)) return { state, effects: nothing };
  return startRun(state, now);
}

function requestSync(state: UploaderState, event: EventOf<"sync_requested">, now: Millis): UploaderStep {
  return quietDelay(state, now) > 0 ? { state, effects: nothing } : tick(state, event, now);
}

function sendFound(state: UploaderState, event: EventOf<"bodies_found">, now: Millis): UploaderStep {
  if (state.run?.phase !== "selecting") return { state, effects: nothing };
  const { bodies, policy } = event;
  const run = { ...state.run, policy, page: bodies, full: bodies.length >= BODY_PAGE_SIZE };
  return continueRun(state, run, policy, now);
}

function takeAnswer(state: UploaderState, event: EventOf<"body_answered">, now: Millis): UploaderStep {
  const { run } = state;
  if (!run?.inFlight || !run.policy || event.sendNumber !== state.sendNumber) {
    return { state, effects: nothing };
  }
  return answerBody(state, run, run.inFlight, run.policy, event.answer, event.random, now);
}

/** Decision: as in the metadata machine, the operator's pause stays what it is, whatever the answer says. */
function honourAnswer(state: UploaderState, event: EventOf<"body_answered">, now: Millis): UploaderStep {
  const { run } = state;
  if (!run?.inFlight || event.sendNumber !== state.sendNumber) return { state, effects: nothing };
  const outcome = decideUpload(event.answer);
  const effects = outcomeEffects(outcome, run.inFlight, now);
  switch (outcome.kind) {
    case "paused":
    case "transient":
      return { state: { ...state, run: null, lastError: outcome.error, lastErrorAt: now }, effects };
    case "policy_rejected": {
      const recordsPolicyRejected = state.recordsPolicyRejected + 1;
      return { state: { ...state, run: null, recordsPolicyRejected }, effects };
    }
    default:
      return { state: { ...state, run: null }, effects };
  }
}

function pause(state: UploaderState): UploaderStep {
  return {
    state: {
      ...state,
      status: "paused_manual",
      pausedReason: "paused_manual",
      run: unsentDropped(state.run),
      nextTickAt: null,
    },
    effects: [{ kind: "clear_timer", timer: "tick" }],
  };
}

function resumeManual(state: UploaderState, _: EventOf<"resume_requested">, now: Millis): UploaderStep {
  return begin(cleared(state), now);
}

function cleared(state: UploaderState): UploaderState {
  const nothingWrong = { consecutiveFailures: 0, lastError: null, lastErrorAt: null };
  return { ...state, ...nothingWrong, status: "active", pausedReason: null };
}

/**
 * Source: contract, "Daemon metadata sync": pause, counters and last error are cleared in both state tables. What is in
 * flight may have gone out under an old key: its answer is stale, and the leg is sent again.
 */
function activate(state: UploaderState, _: EventOf<"credentials_confirmed">, now: Millis): UploaderStep {
  return begin({ ...cleared(state), run: null }, now);
}
