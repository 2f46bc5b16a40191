import type { BodyRef } from "../../ports/sync-store.ts";
import type { Step } from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";
import { clampRetryAfter, retryDelay } from "../retry/backoff-delay.ts";
import { type CloudResult, describeResult } from "../retry/cloud-result.ts";
import { type BodyPolicy, mayUpload } from "./body-policy.ts";
import { clampUploadCap } from "./upload-cap.ts";
import { type BodyResult, decideUpload, type UploadOutcome } from "./upload-outcome.ts";
import type { UploaderEffect, UploaderEvent } from "./uploader-events.ts";
import type { UploaderState, UploadRun } from "./uploader-state.ts";

/** Bodies per page. Decision: enough to keep the connection busy, few enough for the state. */
export const BODY_PAGE_SIZE = 50;

/** A step of the uploader. */
export type UploaderStep = Step<UploaderState, UploaderEffect>;

const POLICY_HINT =
  "the workspace does not store prompt content: bodies stay on this machine and are offered again when an admin switches it on";

/** Sets the tick timer and records when it fires. */
export function scheduleTick(state: UploaderState, delayMs: number, now: Millis): UploaderStep {
  return {
    state: { ...state, nextTickAt: now + delayMs },
    effects: [{ kind: "set_timer", timer: "tick", delayMs }],
  };
}

/** Starts a pass. */
export function startRun(state: UploaderState, now: Millis): UploaderStep {
  const run: UploadRun = {
    phase: "selecting",
    isAllowed: false,
    coversAll: state.cursor === null,
    policy: null,
    page: [],
    full: false,
    inFlight: null,
    skippedProjects: [],
  };
  return {
    state: { ...state, run, lastTickAt: now, nextTickAt: null },
    effects: [{ kind: "clear_timer", timer: "tick" }, select(state.cursor)],
  };
}

function select(after: string | null): UploaderEffect {
  return { kind: "select_bodies", after, limit: BODY_PAGE_SIZE };
}

/**
 * Continues a pass: sends the page's next body that may be sent, selects the next page after a full one, or ends the pass.
 * Before the first body of a pass, it checks that the workspace stores bodies. If not, no body leaves the machine.
 */
export function continueRun(
  state: UploaderState,
  run: UploadRun,
  policy: BodyPolicy,
  now: Millis,
): UploaderStep {
  const at = run.page.findIndex(
    (body) => mayUpload(body, policy) && !run.skippedProjects.includes(body.project),
  );
  const body = run.page[at];
  if (body !== undefined && !run.isAllowed) return requestWorkspace(state, run);
  if (body !== undefined) return send(state, { ...run, page: run.page.slice(at + 1) }, body, policy);
  const cursor = run.page.at(-1)?.position ?? state.cursor;
  // A complete pass that found nothing to send clears earlier failures.
  if (!run.full)
    return finishRun(run.coversAll && !run.isAllowed ? clearFailures(state) : state, policy, 0, now);
  return {
    state: { ...state, cursor, run: { ...run, phase: "selecting", page: [], inFlight: null } },
    effects: [select(cursor)],
  };
}

function send(state: UploaderState, run: UploadRun, body: BodyRef, policy: BodyPolicy): UploaderStep {
  const sendNumber = state.sendNumber + 1;
  const { requestId, direction, sizeBytes } = body;
  const maxBytes = clampUploadCap(policy.maxBodyBytes);
  const effects: UploaderEffect[] = [{ kind: "send_body", sendNumber, requestId, direction, maxBytes }];
  if (sizeBytes > maxBytes) {
    effects.unshift({
      kind: "log",
      level: "info",
      event: `upload_truncated_${direction}`,
      fields: { request_id: requestId, size_bytes: sizeBytes, max_bytes: maxBytes },
    });
  }
  // The cursor moves past the body when it is sent, so that a body that always fails is not always first.
  const cursor = body.position;
  return {
    state: { ...state, sendNumber, cursor, run: { ...run, phase: "sending", inFlight: body } },
    effects,
  };
}

function finishRun(
  state: UploaderState,
  policy: BodyPolicy,
  recordsPolicyRejected: number,
  now: Millis,
): UploaderStep {
  return scheduleTick({ ...state, recordsPolicyRejected, run: null, cursor: null }, policy.intervalMs, now);
}

function requestWorkspace(state: UploaderState, run: UploadRun): UploaderStep {
  const sendNumber = state.sendNumber + 1;
  return {
    state: { ...state, sendNumber, run: { ...run, phase: "asking" } },
    effects: [{ kind: "request_workspace", sendNumber }],
  };
}

/** Applies the result of the workspace check before the first body of a pass. */
export function applyWorkspaceResult(
  state: UploaderState,
  run: UploadRun,
  policy: BodyPolicy,
  { result, storesBodies, random }: Extract<UploaderEvent, { readonly kind: "workspace_answered" }>,
  now: Millis,
): UploaderStep {
  const status = result.kind === "http" ? result.status : null;
  if (status === 200) {
    if (storesBodies === false) return countWaiting(clearFailures(state), run);
    // Earlier failures stay until a body is taken. Otherwise a cloud that takes none would get one each second, forever.
    return continueRun({ ...state, recordsPolicyRejected: 0 }, { ...run, isAllowed: true }, policy, now);
  }
  const outcome = decideUpload(result.kind === "http" ? { ...result, stored: null } : result);
  return outcome.kind === "paused"
    ? pauseByCloud(state, outcome, null, now)
    : backOff(state, result, describeResult(result), random, now);
}

/** Ends the pass by counting the bodies that wait for the workspace. They are tried again at the next tick. */
function countWaiting(state: UploaderState, run: UploadRun): UploaderStep {
  return {
    state: { ...state, run: { ...run, phase: "counting", page: [], inFlight: null } },
    effects: [{ kind: "count_waiting" }],
  };
}

/** Records the number of bodies that wait for the workspace. Source: docs/specification.md#body-uploader and "Events", with count and hint. */
export function recordWaiting(state: UploaderState, count: number, now: Millis): UploaderStep {
  const policy = state.run?.phase === "counting" ? state.run.policy : null;
  const next: UploaderStep =
    policy === null
      ? { state: { ...state, recordsPolicyRejected: count }, effects: [] }
      : finishRun(state, policy, count, now);
  if (count === 0) return next;
  const event = "cloud.body_uploader.policy_rejected_tick";
  const log: UploaderEffect = { kind: "log", level: "warn", event, fields: { count, hint: POLICY_HINT } };
  return { state: next.state, effects: [log, ...next.effects] };
}

/** Returns the effects that store an outcome, also for a response that arrives after a pause. */
export function outcomeEffects(
  outcome: UploadOutcome,
  body: BodyRef,
  now: Millis,
): readonly UploaderEffect[] {
  const { requestId, direction } = body;
  switch (outcome.kind) {
    case "stored":
      return [{ kind: "mark_uploaded", requestId, direction, at: now }];
    case "quarantined": {
      const { reason, httpStatus } = outcome;
      return [{ kind: "quarantine_body", requestId, direction, reason, httpStatus, at: now }];
    }
    case "policy_rejected":
      return [{ kind: "count_waiting" }];
    default:
      return [];
  }
}

/** Applies the result of the body in flight while active. */
export function applyBodyResult(
  state: UploaderState,
  run: UploadRun,
  body: BodyRef,
  policy: BodyPolicy,
  result: BodyResult,
  random: number,
  now: Millis,
): UploaderStep {
  const outcome = decideUpload(result);
  const effects = outcomeEffects(outcome, body, now);
  switch (outcome.kind) {
    case "paused":
      return pauseByCloud(state, outcome, body.requestId, now);
    case "transient":
      return backOff(state, result, outcome.error, random, now);
    case "policy_rejected":
      // Decision: the gate applies to the whole workspace, so the pass ends at the first policy rejection.
      return countWaiting(clearFailures(state), run);
    default: {
      const skippedProjects =
        outcome.kind === "key_unavailable" ? [...run.skippedProjects, body.project] : run.skippedProjects;
      const next = continueRun(clearFailures(state), { ...run, skippedProjects }, policy, now);
      return { state: next.state, effects: [...effects, ...next.effects] };
    }
  }
}

function clearFailures(state: UploaderState): UploaderState {
  return { ...state, consecutiveFailures: 0, lastError: null, lastErrorAt: null, notBefore: null };
}

function pauseByCloud(
  state: UploaderState,
  { status, httpStatus, error, code }: Extract<UploadOutcome, { readonly kind: "paused" }>,
  lastRequestId: string | null,
  now: Millis,
): UploaderStep {
  const paused = { status, pausedReason: status, pausedCode: code, lastError: error, lastErrorAt: now };
  return {
    state: { ...state, ...paused, run: null, nextTickAt: null },
    effects: [
      { kind: "clear_timer", timer: "tick" },
      {
        kind: "log",
        level: "warn",
        event: "cloud.body_uploader.paused",
        fields: { reason: status, http_status: httpStatus, last_request_id: lastRequestId },
      },
    ],
  };
}

function backOff(
  state: UploaderState,
  result: BodyResult | CloudResult,
  error: string,
  random: number,
  now: Millis,
): UploaderStep {
  const consecutiveFailures = state.consecutiveFailures + 1;
  const retryAfterMs = result.kind === "http" ? result.retryAfterMs : null;
  const delayMs = retryDelay(consecutiveFailures, random, retryAfterMs);
  const next = scheduleTick(
    {
      ...state,
      run: null,
      consecutiveFailures,
      lastError: error,
      lastErrorAt: now,
      notBefore: retryAfterMs === null ? null : now + clampRetryAfter(retryAfterMs),
    },
    delayMs,
    now,
  );
  return {
    state: next.state,
    effects: [
      {
        kind: "log",
        level: "warn",
        event: result.kind === "transport" ? "cloud.transport_error" : "cloud.body_uploader.failed",
        fields: { error, consecutive_failures: consecutiveFailures, retry_in_ms: delayMs },
      },
      ...next.effects,
    ],
  };
}
