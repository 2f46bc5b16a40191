import type { CloudResult } from "../../../../core/delivery/retry/cloud-result.ts";
import type { BodyPolicy } from "../../../../core/delivery/uploader/body-policy.ts";
import { UPLOAD_CAP_DEFAULT_BYTES } from "../../../../core/delivery/uploader/upload-cap.ts";
import type { BodyResult } from "../../../../core/delivery/uploader/upload-outcome.ts";
import type { UploaderEvent } from "../../../../core/delivery/uploader/uploader-events.ts";
import { uploaderTable, uploaderTransition } from "../../../../core/delivery/uploader/uploader-machine.ts";
import {
  createUploaderState,
  type UploaderState,
} from "../../../../core/delivery/uploader/uploader-state.ts";
import type { BodyRef } from "../../../../core/ports/sync-store.ts";
import { DAY } from "../../machine.rig.ts";

export const machine = { transition: uploaderTransition, table: uploaderTable };

export const policy: BodyPolicy = {
  perProject: {},
  uploadFrom: null,
  maxBodyBytes: UPLOAD_CAP_DEFAULT_BYTES,
  intervalMs: 60_000,
};

export function bodyRef(requestId: string, changes: Partial<BodyRef> = {}): BodyRef {
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

export function http(status: number, retryAfterMs: number | null = null) {
  return { kind: "http", status, retryAfterMs, stored: null } as const satisfies BodyResult;
}

export const notStored: BodyResult = { kind: "http", status: 200, retryAfterMs: null, stored: false };
export const noAnswer: BodyResult = { kind: "transport", reason: "timeout" };

export function answered(sendNumber: number, result: BodyResult, random = 0.5): UploaderEvent {
  return { kind: "body_answered", sendNumber, result, random };
}

/** The answer to the question whether the workspace stores bodies. */
export function workspace(sendNumber: number, storesBodies: boolean | null = true): UploaderEvent {
  const result = { kind: "http", status: 200, retryAfterMs: null } as const;
  return { kind: "workspace_answered", sendNumber, result, storesBodies, random: 0.5 };
}

/** A failed answer to the same question. */
export function workspaceFailed(sendNumber: number, result: CloudResult): UploaderEvent {
  return { kind: "workspace_answered", sendNumber, result, storesBodies: null, random: 0.5 };
}

export const stamped: UploaderEvent = { kind: "upload_from_stamped", uploadFrom: DAY, isAnnounced: false };

export function counted(count: number): UploaderEvent {
  return { kind: "waiting_counted", count };
}

export function found(bodies: readonly BodyRef[], changes: Partial<BodyPolicy> = {}): UploaderEvent {
  return { kind: "bodies_found", bodies, policy: { ...policy, ...changes } };
}

/** The state of a row with body sync on and its time set. */
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

/** A state in a pass whose workspace stores bodies, before the first page. */
export function selectingState(): UploaderState {
  const { state } = uploaderTransition(enabledState(), { kind: "tick_due" }, DAY);
  return { ...state, run: state.run && { ...state.run, isAllowed: true } };
}

/** A state with the first of the bodies in flight as number 1. */
export function sendingState(...bodies: BodyRef[]): UploaderState {
  return uploaderTransition(selectingState(), found(bodies), DAY).state;
}

/** A state that has asked whether the workspace stores bodies, as number 1. */
export function askingState(...bodies: BodyRef[]): UploaderState {
  const ticked = uploaderTransition(enabledState(), { kind: "tick_due" }, DAY);
  return uploaderTransition(ticked.state, found(bodies), DAY).state;
}
