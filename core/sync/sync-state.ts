import type { Millis } from "../time.ts";

/** Where the metadata worker stands. `paused_other`: an old row holds a reason that this version does not know. */
export type SyncStatus =
  | "active"
  | "paused_unauthorised"
  | "paused_forbidden"
  | "paused_manual"
  | "paused_other";

/** The columns of `cloud_sync_state` that the machine is made from. Source: contract, "Local daemon state records". */
export interface SyncRow {
  readonly pausedReason: string | null;
  readonly consecutiveFailures: number;
  readonly lastError: string | null;
  readonly lastErrorAt: Millis | null;
  readonly lastTickAt: Millis | null;
}

/** A record that the cloud refused when it stood alone in its batch. */
export interface Suspect {
  readonly requestId: string;
  /** The status that it was refused with: 400, 413 or 422. */
  readonly httpStatus: number;
}

/** One run: what was selected at one tick, until all of it is settled or put off. Lost in a crash, and then begun anew. */
export interface SyncRun {
  /** `waiting`: a refusal's backoff runs, and then the run goes on with smaller batches. */
  readonly phase: "selecting" | "sending" | "waiting";
  /** Someone asked for this run and waits for its report. */
  readonly requested: boolean;
  /** As many were selected as fit: there may be more. */
  readonly full: boolean;
  readonly inFlight: readonly string[];
  readonly queue: readonly (readonly string[])[];
  /** Refused alone before anything of this run was taken: they say nothing until something is. */
  readonly suspects: readonly Suspect[];
  /** A record that the cloud took in this run. */
  readonly takenId: string | null;
  /** Refused alone; `takenId` is being sent again to learn whether the record or the cloud is at fault. */
  readonly checking: Suspect | null;
  readonly accepted: number;
  readonly duplicates: number;
  readonly quarantined: number;
}

/** The whole state: what the row keeps, and what goes with it. Plain JSON. */
export interface SyncState extends SyncRow {
  readonly status: SyncStatus;
  /** When the timer fires. Kept, so that a restart does not shorten a backoff. */
  readonly nextTickAt: Millis | null;
  /** Until then the cloud asked to be left alone (`Retry-After`). */
  readonly notBefore: Millis | null;
  /** Number of the batch sent last: an answer to any other is stale. */
  readonly batchNumber: number;
  readonly run: SyncRun | null;
  /** whoami was asked on behalf of `meter cloud resume`. */
  readonly resuming: boolean;
  /** The uploader's table has still to be cleared after a resume. Kept, so that a crash can't lose it. */
  readonly uploaderClearDue: boolean;
}

const known: readonly string[] = ["paused_unauthorised", "paused_forbidden", "paused_manual"];

/** The status behind a stored `paused_reason`: any reason that is not known here pauses as `paused_other`. */
export function statusOfReason(pausedReason: string | null): SyncStatus {
  if (pausedReason === null) return "active";
  return known.includes(pausedReason) ? (pausedReason as SyncStatus) : "paused_other";
}

/** The state of a row, without anything under way. */
export function createSyncState(row: SyncRow): SyncState {
  return {
    status: statusOfReason(row.pausedReason),
    pausedReason: row.pausedReason,
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
