import type { Millis } from "../../values/time.ts";

/** The status of the metadata worker. `paused_other`: a stored row has a reason that this version does not know. */
export type SyncStatus =
  | "active"
  | "paused_unauthorised"
  | "paused_forbidden"
  | "paused_manual"
  | "paused_other";

/** The columns of `cloud_sync_state` from which the state is created. Source: docs/specification.md#local-state-tables. */
export interface SyncRow {
  readonly pausedReason: string | null;
  readonly consecutiveFailures: number;
  readonly lastError: string | null;
  readonly lastErrorAt: Millis | null;
  readonly lastTickAt: Millis | null;
}

/** A record that the cloud refused when it was alone in its batch. */
export interface Suspect {
  readonly requestId: string;
  /** The status of the refusal: 400, 413 or 422. */
  readonly httpStatus: number;
  /** Status and problem code of the refusal. */
  readonly error: string;
}

/** One run: the records selected at one tick, until all are settled or postponed. A crash loses it; the next start begins a new one. */
export interface SyncRun {
  /** `waiting`: the run continues with smaller batches after a refusal's backoff. */
  readonly phase: "selecting" | "sending" | "waiting";
  /** A person requested this run and waits for its report. */
  readonly requested: boolean;
  /** The limit was reached: there may be more records. */
  readonly full: boolean;
  readonly inFlight: readonly string[];
  readonly queue: readonly (readonly string[])[];
  /** Batches refused so far. */
  readonly refusals: number;
  /** The newest records were selected too, or all pending ones fitted into the run. */
  readonly probed: boolean;
  /** The newest record of the run. The search for a record that the cloud accepts moves towards it. */
  readonly newestId: string | null;
  /** Records refused alone before anything was delivered in this run. They prove nothing until something is. */
  readonly suspects: readonly Suspect[];
  /** A record that the cloud accepted in this run. */
  readonly deliveredId: string | null;
  /** A record refused alone. `deliveredId` is sent again to learn whether the record or the cloud is at fault. */
  readonly checking: Suspect | null;
  readonly accepted: number;
  readonly duplicates: number;
  readonly quarantined: number;
}

/** The state of the machine: the stored columns and the rest. Plain JSON. */
export interface SyncState extends SyncRow {
  readonly status: SyncStatus;
  /** The problem code of the response that paused sync, such as `workspace_deleted`. */
  readonly pausedCode: string | null;
  /** When the timer fires. Saved, so that a restart does not shorten a backoff. */
  readonly nextTickAt: Millis | null;
  /** The end of the cloud's `Retry-After`. */
  readonly notBefore: Millis | null;
  /** Number of the last batch sent. Results of any other are stale. */
  readonly batchNumber: number;
  readonly run: SyncRun | null;
  /** A whoami request for `meter cloud resume` is in progress. */
  readonly resuming: boolean;
  /** The uploader's state must still be cleared after a resume. Saved, so that a crash cannot lose it. */
  readonly uploaderClearDue: boolean;
}

const known: readonly string[] = ["paused_unauthorised", "paused_forbidden", "paused_manual"];

/** Returns the status of a stored `paused_reason`. An unknown reason is `paused_other`. */
export function statusOfReason(pausedReason: string | null): SyncStatus {
  if (pausedReason === null) return "active";
  return known.includes(pausedReason) ? (pausedReason as SyncStatus) : "paused_other";
}

/** Creates the state from a stored row, with nothing in progress. */
export function createSyncState(row: SyncRow): SyncState {
  return {
    status: statusOfReason(row.pausedReason),
    pausedReason: row.pausedReason,
    pausedCode: null,
    consecutiveFailures: row.consecutiveFailures,
    lastError: row.lastError,
    lastErrorAt: row.lastErrorAt,
    lastTickAt: row.lastTickAt,
    nextTickAt: null,
    notBefore: null,
    batchNumber: 0,
    run: null,
    resuming: false,
    uploaderClearDue: false,
  };
}

/** The state of a daemon that has never synced. */
export const initialSyncState: SyncState = createSyncState({
  pausedReason: null,
  consecutiveFailures: 0,
  lastError: null,
  lastErrorAt: null,
  lastTickAt: null,
});
