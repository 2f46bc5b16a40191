import type { BodyRef } from "../../ports/sync-store.ts";
import type { Millis } from "../../values/time.ts";
import type { BodyPolicy } from "./body-policy.ts";

/** The status of the body uploader, independent of the metadata worker. */
export type UploaderStatus =
  | "active"
  | "paused_unauthorised"
  | "paused_forbidden"
  | "paused_manual"
  | "paused_other";

/** The columns of `cloud_body_sync_state`. Source: docs/specification.md#local-state-tables. */
export interface UploaderRow {
  readonly pausedReason: string | null;
  readonly consecutiveFailures: number;
  readonly lastError: string | null;
  readonly lastErrorAt: Millis | null;
  readonly lastTickAt: Millis | null;
}

/** One pass over the pending bodies. A crash loses it; the next start begins a new one. */
export interface UploadRun {
  readonly phase: "selecting" | "asking" | "sending" | "counting";
  /** The cloud did not report, when checked in this pass, that the workspace stores no bodies. */
  readonly isAllowed: boolean;
  /** The pass started with the first pending body, not after one that had failed. */
  readonly coversAll: boolean;
  /** `null` until the first page arrives. */
  readonly policy: BodyPolicy | null;
  readonly page: readonly BodyRef[];
  /** The page is full: there may be more bodies after it. */
  readonly full: boolean;
  readonly inFlight: BodyRef | null;
  /** The projects whose other bodies are not sent in this pass, because the cloud can't use their key. */
  readonly skippedProjects: readonly string[];
}

/** The state of the uploader. Plain JSON. */
export interface UploaderState extends UploaderRow {
  readonly status: UploaderStatus;
  /** The problem code of the response that paused the uploader, such as `machine_blocked`. */
  readonly pausedCode: string | null;
  /** Body sync is switched on. Saved, so that a switch made while the daemon was down is noticed. */
  readonly enabled: boolean;
  /** The instant with which `upload_from` must still be stamped. Nothing is selected before. */
  readonly stampDueAt: Millis | null;
  readonly nextTickAt: Millis | null;
  /** The end of the cloud's `Retry-After`. */
  readonly notBefore: Millis | null;
  /** Where the next page starts; `null` for the first page. */
  readonly cursor: string | null;
  /** Number of the last body or workspace check sent. Results of any other are stale. */
  readonly sendNumber: number;
  /** Bodies that wait because the workspace does not store them, as of the last pass: `records_policy_rejected`. */
  readonly recordsPolicyRejected: number;
  readonly run: UploadRun | null;
}

const known: readonly string[] = ["paused_unauthorised", "paused_forbidden", "paused_manual"];

/** Creates the state from a stored row, with body sync off and nothing in progress. */
export function createUploaderState(row: UploaderRow): UploaderState {
  const { pausedReason } = row;
  const paused = known.includes(String(pausedReason)) ? (pausedReason as UploaderStatus) : "paused_other";
  return {
    status: pausedReason === null ? "active" : paused,
    pausedReason,
    pausedCode: null,
    consecutiveFailures: row.consecutiveFailures,
    lastError: row.lastError,
    lastErrorAt: row.lastErrorAt,
    lastTickAt: row.lastTickAt,
    enabled: false,
    stampDueAt: null,
    nextTickAt: null,
    notBefore: null,
    cursor: null,
    sendNumber: 0,
    recordsPolicyRejected: 0,
    run: null,
  };
}

/** The state of a daemon that has never uploaded a body. */
export const initialUploaderState: UploaderState = createUploaderState({
  pausedReason: null,
  consecutiveFailures: 0,
  lastError: null,
  lastErrorAt: null,
  lastTickAt: null,
});
