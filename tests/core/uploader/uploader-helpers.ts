import {
  type BodyAnswer,
  type BodyPolicy,
  type BodyRef,
  createUploaderState,
  UPLOAD_CAP_DEFAULT_BYTES,
  type UploaderEvent,
  type UploaderState,
  uploaderTable,
  uploaderTransition,
} from "../../../core/uploader/mod.ts";
import { DAY } from "../machine-checks.ts";

export const machine = { transition: uploaderTransition, table: uploaderTable };

export const policy: BodyPolicy = {
  perProject: {},
  uploadFrom: null,
  maxBodyBytes: UPLOAD_CAP_DEFAULT_BYTES,
  intervalMs: 60_000,
};

export function leg(requestId: string, changes: Partial<BodyRef> = {}): BodyRef {
  return {
    requestId,
    direction: "request",
    project: "p",
    capturedAt: DAY,
    sizeBytes: 10,
    position: requestId,
    ...changes,
  };
}

export function http(status: number, retryAfterMs: number | null = null): BodyAnswer {
  return { kind: "http", status, retryAfterMs, stored: null };
}

export const notStored: BodyAnswer = { kind: "http", status: 200, retryAfterMs: null, stored: false };
export const noAnswer: BodyAnswer = { kind: "transport", reason: "timeout" };

export function answered(sendNumber: number, answer: BodyAnswer, random = 0.5): UploaderEvent {
  return { kind: "body_answered", sendNumber, answer, random };
}

export function found(bodies: readonly BodyRef[], changes: Partial<BodyPolicy> = {}): UploaderEvent {
  return { kind: "bodies_found", bodies, policy: { ...policy, ...changes } };
}

/** The state of a row, body sync switched on and stamped. */
export function enabledState(pausedReason: string | null = null): UploaderState {
  return {
    ...createUploaderState({
      pausedReason,
      consecutiveFailures: 2,
      lastError: "HTTP 503",
      lastErrorAt: 1,
      lastTickAt: 1,
    }),
    enabled: true,
  };
}

/** A state with the first of the legs in flight as number 1. */
export function sendingState(...legs: BodyRef[]): UploaderState {
  const ticked = uploaderTransition(enabledState(), { kind: "tick_due" }, DAY);
  return uploaderTransition(ticked.state, found(legs), DAY).state;
}
