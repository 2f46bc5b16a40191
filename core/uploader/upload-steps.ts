import type { Step } from "../machine.ts";
import { clampRetryAfter, retryDelay } from "../retry/mod.ts";
import type { Millis } from "../time.ts";
import { type BodyPolicy, type BodyRef, mayUpload } from "./body-policy.ts";
import { clampUploadCap } from "./upload-cap.ts";
import { type BodyAnswer, decideUpload, type UploadOutcome } from "./upload-outcome.ts";
import type { UploaderEffect } from "./uploader-events.ts";
import type { UploaderState, UploadRun } from "./uploader-state.ts";

/** Legs selected at once. Decision: enough to keep the connection busy, few enough to hold in the state. */
export const BODY_PAGE_SIZE = 50;

/** A step of the uploader. */
export type UploaderStep = Step<UploaderState, UploaderEffect>;

const POLICY_HINT =
  "the workspace does not store prompt content: bodies stay on this machine and are offered again when an admin switches it on";

/** Sets the tick timer, and remembers when it fires. */
export function scheduleTick(state: UploaderState, delayMs: number, now: Millis): UploaderStep {
  return {
    state: { ...state, nextTickAt: now + delayMs },
    effects: [{ kind: "set_timer", timer: "tick", delayMs }],
  };
}

/** Begins a pass. */
export function startRun(state: UploaderState, now: Millis): UploaderStep {
  const run: UploadRun = { phase: "selecting", policy: null, page: [], full: false, inFlight: null };
  return {
    state: { ...state, run, lastTickAt: now, nextTickAt: null },
    effects: [{ kind: "clear_timer", timer: "tick" }, select(state.cursor)],
  };
}

function select(after: string | null): UploaderEffect {
  return { kind: "select_bodies", after, limit: BODY_PAGE_SIZE };
}

/** Sends the page's next leg that may be sent; behind a full page comes another one; then the pass is over. */
export function continueRun(
  state: UploaderState,
  run: UploadRun,
  policy: BodyPolicy,
  now: Millis,
): UploaderStep {
  const at = run.page.findIndex((leg) => mayUpload(leg, policy));
  const leg = run.page[at];
  if (leg !== undefined) return send(state, { ...run, page: run.page.slice(at + 1) }, leg, policy);
  const cursor = run.page.at(-1)?.position ?? state.cursor;
  if (!run.full) return finishRun(state, policy, now);
  return {
    state: { ...state, cursor, run: { ...run, phase: "selecting", page: [], inFlight: null } },
    effects: [select(cursor)],
  };
}

function send(state: UploaderState, run: UploadRun, leg: BodyRef, policy: BodyPolicy): UploaderStep {
  const sendNumber = state.sendNumber + 1;
  const { requestId, direction, sizeBytes } = leg;
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
  // The cursor passes the leg as it goes out, so that one that always fails is not the one that always comes first.
  const cursor = leg.position;
  return {
    state: { ...state, sendNumber, cursor, run: { ...run, phase: "sending", inFlight: leg } },
    effects,
  };
}

function finishRun(state: UploaderState, policy: BodyPolicy, now: Millis): UploaderStep {
  return scheduleTick({ ...state, run: null, cursor: null }, policy.intervalMs, now);
}

/** What is written down of an outcome: also for an answer that a pause overtook. */
export function outcomeEffects(outcome: UploadOutcome, leg: BodyRef, now: Millis): readonly UploaderEffect[] {
  const { requestId, direction } = leg;
  switch (outcome.kind) {
    case "stored":
      return [{ kind: "mark_uploaded", requestId, direction, at: now }];
    case "quarantined": {
      const { reason, httpStatus } = outcome;
      return [{ kind: "quarantine_body", requestId, direction, reason, httpStatus, at: now }];
    }
    case "policy_rejected":
      // Source: contract, "Events", with count and hint.
      return [
        {
          kind: "log",
          level: "warn",
          event: "cloud.body_uploader.policy_rejected_tick",
          fields: { count: 1, hint: POLICY_HINT },
        },
      ];
    default:
      return [];
  }
}

/** The answer to the leg in flight while active. */
export function answerBody(
  state: UploaderState,
  run: UploadRun,
  leg: BodyRef,
  policy: BodyPolicy,
  answer: BodyAnswer,
  random: number,
  now: Millis,
): UploaderStep {
  const outcome = decideUpload(answer);
  const effects = outcomeEffects(outcome, leg, now);
  switch (outcome.kind) {
    case "paused": {
      const { status, httpStatus, error } = outcome;
      return {
        state: {
          ...state,
          status,
          pausedReason: status,
          run: null,
          nextTickAt: null,
          lastError: error,
          lastErrorAt: now,
        },
        effects: [
          { kind: "clear_timer", timer: "tick" },
          {
            kind: "log",
            level: "warn",
            event: "cloud.body_uploader.paused",
            fields: { reason: status, http_status: httpStatus, last_request_id: leg.requestId },
          },
        ],
      };
    }
    case "transient":
      return backOff(state, answer, outcome.error, random, now);
    case "policy_rejected": {
      // Decision: the gate is the workspace's, so one answer speaks for all that is pending: the pass ends here, and
      // the tick's count is 1, rather than sending every body each minute only to have it thrown away.
      const recordsPolicyRejected = state.recordsPolicyRejected + 1;
      const next = finishRun({ ...answered(state), recordsPolicyRejected }, policy, now);
      return { state: next.state, effects: [...effects, ...next.effects] };
    }
    default: {
      const next = continueRun(answered(state), run, policy, now);
      return { state: next.state, effects: [...effects, ...next.effects] };
    }
  }
}

function answered(state: UploaderState): UploaderState {
  return { ...state, consecutiveFailures: 0, notBefore: null };
}

function backOff(
  state: UploaderState,
  answer: BodyAnswer,
  error: string,
  random: number,
  now: Millis,
): UploaderStep {
  const consecutiveFailures = state.consecutiveFailures + 1;
  const retryAfterMs = answer.kind === "http" ? answer.retryAfterMs : null;
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
        event: answer.kind === "transport" ? "cloud.transport_error" : "cloud.body_uploader.failed",
        fields: { error, consecutive_failures: consecutiveFailures, retry_in_ms: delayMs },
      },
      ...next.effects,
    ],
  };
}
