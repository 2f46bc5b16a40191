import type { Millis } from "../time.ts";
import type { BodyPolicy, BodyRef } from "./body-policy.ts";

/** Where the body uploader stands, independent of the metadata worker. */
export type UploaderStatus =
  | "active"
  | "paused_unauthorised"
  | "paused_forbidden"
  | "paused_manual"
  | "paused_other";

/** The columns of `cloud_body_sync_state`. Source: contract, "Local daemon state records". */
export interface UploaderRow {
  readonly pausedReason: string | null;
  readonly consecutiveFailures: number;
  readonly lastError: string | null;
  readonly lastErrorAt: Millis | null;
  readonly lastTickAt: Millis | null;
}

/** One pass over the pending legs. Lost in a crash, and then begun anew. */
export interface UploadRun {
  readonly phase: "selecting" | "sending";
  /** `null` until the first page arrives. */
  readonly policy: BodyPolicy | null;
  readonly page: readonly BodyRef[];
  /** The page held as many as fit: there may be more behind it. */
  readonly full: boolean;
  readonly inFlight: BodyRef | null;
}

/** The whole state. Plain JSON. */
export interface UploaderState extends UploaderRow {
  readonly status: UploaderStatus;
  /** Body sync is switched on. Kept, so that a switch made while the daemon was down is noticed. */
  readonly enabled: boolean;
  /** The instant with which `upload_from` has still to be stamped. Nothing is selected before that is done. */
  readonly stampDueAt: Millis | null;
  readonly nextTickAt: Millis | null;
  /** Until then the cloud asked to be left alone (`Retry-After`). */
  readonly notBefore: Millis | null;
  /** Where the next page begins; `null` is the beginning. */
  readonly cursor: string | null;
  /** Number of the leg sent last: an answer to any other is stale. */
  readonly sendNumber: number;
  /** Policy rejections since the first start: `records_policy_rejected`. */
  readonly recordsPolicyRejected: number;
  readonly run: UploadRun | null;
}

const known: readonly string[] = ["paused_unauthorised", "paused_forbidden", "paused_manual"];

/** The state of a row, body sync switched off, without anything under way. */
export function createUploaderState(row: UploaderRow): UploaderState {
  const { pausedReason } = row;
  const paused = known.includes(String(pausedReason)) ? (pausedReason as UploaderStatus) : "paused_other";
  return {
    status: pausedReason === null ? "active" : paused,
    pausedReason,
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
