import { runTable, type Table } from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";
import { firstTickDelay, remainingRetryAfter } from "../retry/backoff-delay.ts";
import { decideUpload } from "./upload-outcome.ts";
import {
  applyBodyResult,
  applyWorkspaceResult,
  BODY_PAGE_SIZE,
  continueRun,
  outcomeEffects,
  recordWaiting,
  scheduleTick,
  startRun,
  type UploaderStep,
} from "./upload-steps.ts";
import type { UploaderEffect, UploaderEvent } from "./uploader-events.ts";
import type { UploaderState, UploaderStatus } from "./uploader-state.ts";

type EventOf<K extends UploaderEvent["kind"]> = Extract<UploaderEvent, { readonly kind: K }>;

const noEffects: readonly UploaderEffect[] = [];

/** The row of a pause that only confirmed credentials end. */
function pausedByCloudRow<S extends Exclude<UploaderStatus, "active" | "paused_manual">>(status: S) {
  return {
    started: { to: { [status]: "stays" }, run: startPaused },
    tick_due: "ignored",
    sync_requested: "ignored",
    body_sync_switched: { to: { [status]: "on: upload_from is stamped" }, run: switchPaused },
    upload_from_stamped: { to: { [status]: "recorded" }, run: confirmStamped },
    bodies_found: "ignored",
    workspace_answered: "ignored",
    waiting_counted: "ignored",
    body_answered: "ignored",
    pause_requested: "ignored",
    resume_requested: "ignored",
    credentials_confirmed: { to: { active: "whoami 200 or re-paired" }, run: activate },
  } as const;
}

/** The body uploader, row by row. Source: docs/specification.md#body-uploader. `decideUpload` decides what one result means. */
export const uploaderTable: Table<UploaderState, UploaderEvent, UploaderEffect> = {
  active: {
    started: { to: { active: "tick, or the rest of a backoff" }, run: startActive },
    tick_due: { to: { active: "a pass starts" }, run: tick },
    sync_requested: { to: { active: "at once, unless Retry-After holds" }, run: requestSync },
    body_sync_switched: { to: { active: "on: upload_from is stamped" }, run: switchActive },
    upload_from_stamped: { to: { active: "first tick" }, run: startStamped },
    bodies_found: { to: { active: "workspace check, or first body" }, run: handleBodiesFound },
    workspace_answered: {
      to: {
        active: "200: sends, or counts waiting bodies; a failure backs off",
        paused_unauthorised: "401",
        paused_forbidden: "403",
      },
      run: handleWorkspaceResult,
    },
    waiting_counted: { to: { active: "recorded" }, run: handleWaitingCounted },
    body_answered: {
      to: {
        active: "any other answer",
        paused_unauthorised: "401",
        paused_forbidden: "403",
      },
      run: handleBodyResult,
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
    upload_from_stamped: { to: { paused_manual: "recorded" }, run: confirmStamped },
    bodies_found: "ignored",
    workspace_answered: "ignored",
    waiting_counted: { to: { paused_manual: "recorded" }, run: handleWaitingCounted },
    body_answered: { to: { paused_manual: "response in flight is applied" }, run: applyLateResult },
    pause_requested: "ignored",
    resume_requested: { to: { active: "meter cloud resume" }, run: resumeManual },
    credentials_confirmed: { to: { active: "cleared" }, run: activate },
  },
  paused_unauthorised: pausedByCloudRow("paused_unauthorised"),
  paused_forbidden: pausedByCloudRow("paused_forbidden"),
  paused_other: pausedByCloudRow("paused_other"),
};

/** The body uploader's machine. */
export function uploaderTransition(state: UploaderState, event: UploaderEvent, now: Millis): UploaderStep {
  return runTable(uploaderTable, state, event, now);
}

/** A crash lost the pass, the timer and perhaps the stamp. A body that was in flight is still pending and is sent again. */
function startActive(state: UploaderState, event: EventOf<"started">, now: Millis): UploaderStep {
  const switched = switchPaused({ ...state, run: null }, { ...event, kind: "body_sync_switched" }, now);
  if (!isReady(switched.state)) return switched;
  return scheduleTick(switched.state, firstTickDelay(state, event.random, now), now);
}

function startPaused(state: UploaderState, event: EventOf<"started">, now: Millis): UploaderStep {
  return switchPaused({ ...state, run: null }, { ...event, kind: "body_sync_switched" }, now);
}

/** Whether bodies may be selected. */
function isReady(state: UploaderState): boolean {
  return state.enabled && state.stampDueAt === null;
}

/**
 * Source: docs/specification.md#body-uploader: when body sync is switched on, `upload_from` is stamped with the current time
 * and a notice is printed. The instant stays in the state until the stamp is confirmed, so that a crash in between does not
 * upload all history.
 */
function switchPaused(state: UploaderState, event: EventOf<"body_sync_switched">, now: Millis): UploaderStep {
  const { enabled } = event;
  if (!enabled) return { state: { ...state, enabled, stampDueAt: null }, effects: noEffects };
  const stampDueAt = state.enabled ? state.stampDueAt : now;
  if (stampDueAt === null) return { state, effects: noEffects };
  return {
    state: { ...state, enabled, stampDueAt },
    effects: [{ kind: "stamp_upload_from", at: stampDueAt }],
  };
}

function switchActive(state: UploaderState, event: EventOf<"body_sync_switched">, now: Millis): UploaderStep {
  const next = switchPaused(state, event, now);
  if (event.enabled) return next;
  return {
    state: { ...next.state, run: dropUnsent(state.run), nextTickAt: null, cursor: null },
    effects: [{ kind: "clear_timer", timer: "tick" }],
  };
}

/** Drops what has not been sent. The body in flight stays, since its result will arrive. */
function dropUnsent(run: UploaderState["run"]): UploaderState["run"] {
  return run?.phase === "sending" ? { ...run, page: [], full: false } : null;
}

/** Confirms a stamp. Prints no notice if body sync was switched off in the meantime. */
function confirmStamped(state: UploaderState, event: EventOf<"upload_from_stamped">): UploaderStep {
  const effects =
    event.isAnnounced || state.stampDueAt === null ? noEffects : [formatSwitchNotice(event.uploadFrom)];
  return { state: { ...state, stampDueAt: null }, effects };
}

function formatSwitchNotice(uploadFrom: Millis | null): UploaderEffect {
  const which =
    uploadFrom === null
      ? "Bodies of all dates are uploaded"
      : `Bodies captured from ${new Date(uploadFrom).toISOString()} on are uploaded, earlier ones stay on this machine`;
  const message = `Body sync is on. ${which}. Change that: meter cloud privacy set bodies.upload-from <now|date|none>`;
  return { kind: "print_notice", message };
}

function startStamped(
  state: UploaderState,
  event: EventOf<"upload_from_stamped">,
  now: Millis,
): UploaderStep {
  const noted = confirmStamped(state, event);
  const begun = scheduleFirstTick(noted.state, now);
  return { state: begun.state, effects: [...noted.effects, ...begun.effects] };
}

/** Ticks as soon as `Retry-After` allows, if body sync is on. */
function scheduleFirstTick(state: UploaderState, now: Millis): UploaderStep {
  return isReady(state)
    ? scheduleTick(state, remainingRetryAfter(state, now), now)
    : { state, effects: noEffects };
}

function tick(state: UploaderState, _: unknown, now: Millis): UploaderStep {
  if (state.run !== null || !isReady(state)) return { state, effects: noEffects };
  return startRun(state, now);
}

function requestSync(state: UploaderState, event: EventOf<"sync_requested">, now: Millis): UploaderStep {
  return remainingRetryAfter(state, now) > 0 ? { state, effects: noEffects } : tick(state, event, now);
}

function handleBodiesFound(state: UploaderState, event: EventOf<"bodies_found">, now: Millis): UploaderStep {
  if (state.run?.phase !== "selecting") return { state, effects: noEffects };
  const { bodies, policy } = event;
  const run = { ...state.run, policy, page: bodies, full: bodies.length >= BODY_PAGE_SIZE };
  return continueRun(state, run, policy, now);
}

function handleWorkspaceResult(
  state: UploaderState,
  event: EventOf<"workspace_answered">,
  now: Millis,
): UploaderStep {
  const { run } = state;
  if (run?.phase !== "asking" || !run.policy || event.sendNumber !== state.sendNumber) {
    return { state, effects: noEffects };
  }
  return applyWorkspaceResult(state, run, run.policy, event, now);
}

function handleWaitingCounted(
  state: UploaderState,
  event: EventOf<"waiting_counted">,
  now: Millis,
): UploaderStep {
  return recordWaiting(state, event.count, now);
}

function handleBodyResult(state: UploaderState, event: EventOf<"body_answered">, now: Millis): UploaderStep {
  const { run } = state;
  if (!run?.inFlight || !run.policy || event.sendNumber !== state.sendNumber) {
    return { state, effects: noEffects };
  }
  return applyBodyResult(state, run, run.inFlight, run.policy, event.result, event.random, now);
}

/** Decision: as in the metadata machine, no late result changes a manual pause. */
function applyLateResult(state: UploaderState, event: EventOf<"body_answered">, now: Millis): UploaderStep {
  const { run } = state;
  if (!run?.inFlight || event.sendNumber !== state.sendNumber) return { state, effects: noEffects };
  const outcome = decideUpload(event.result);
  const effects = outcomeEffects(outcome, run.inFlight, now);
  switch (outcome.kind) {
    case "paused":
    case "transient":
      return { state: { ...state, run: null, lastError: outcome.error, lastErrorAt: now }, effects };
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
      pausedCode: null,
      run: dropUnsent(state.run),
      nextTickAt: null,
    },
    effects: [{ kind: "clear_timer", timer: "tick" }],
  };
}

function resumeManual(state: UploaderState, _: EventOf<"resume_requested">, now: Millis): UploaderStep {
  return scheduleFirstTick(clearPause(state), now);
}

function clearPause(state: UploaderState): UploaderState {
  const noFailures = { consecutiveFailures: 0, lastError: null, lastErrorAt: null };
  return { ...state, ...noFailures, status: "active", pausedReason: null, pausedCode: null };
}

/**
 * Source: docs/specification.md#metadata-sync: pause, counters and last error are cleared in both state tables. A body in
 * flight may have been sent with an old key: its result is stale, and the body is sent again.
 */
function activate(state: UploaderState, _: EventOf<"credentials_confirmed">, now: Millis): UploaderStep {
  return scheduleFirstTick({ ...clearPause(state), run: null }, now);
}
