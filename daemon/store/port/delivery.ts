import type { Millis } from "../../../core/values/time.ts";
import type { StoredRequest } from "./records.ts";
import type { BodyDirection } from "./values.ts";

/** The tables that have exactly one row, with its columns. Source: docs/specification.md#local-state-tables. */
export interface CloudStateRows {
  cloud_state: {
    enabled: number;
    workspace_id: string | null;
    workspace_name: string | null;
    machine_id: string | null;
    hostname: string | null;
    last_connected_at: number | null;
    paused_reason: string | null;
    api_key_mirror: Uint8Array | null;
  };
  cloud_sync_state: {
    paused_reason: string | null;
    consecutive_failures: number;
    last_error: string | null;
    /** Every request up to this `requests.seq` is sent, skipped or in quarantine. */
    cursor_seq: number;
    /** How many numbers after `cursor_seq`, up to that of the last request, belong to no pending request. */
    settled_after_cursor: number;
    last_error_at: number | null;
    last_tick_at: number | null;
  };
  cloud_body_sync_state: {
    paused_reason: string | null;
    consecutive_failures: number;
    last_error: string | null;
    /** Always 0: every pass reads all pending bodies, since a rule that holds a body back may change. */
    cursor_body_id: number;
    upload_from: number | null;
    records_policy_rejected: number;
    last_error_at: number | null;
    last_body_tick_at: number | null;
  };
}

export type CloudStateTable = keyof CloudStateRows;

export type CloudStateRow<Table extends CloudStateTable> = CloudStateRows[Table];

/** A record or body that the cloud refused for good. */
export interface QuarantineEntry {
  kind: "metadata" | "body";
  requestId: string;
  /** Null for metadata. */
  direction: BodyDirection | null;
  reason: string;
  httpStatus: number | null;
  quarantinedAt: Millis;
}

/** What was decided about pending requests. */
export interface SettledRequests {
  /** In the cloud, accepted or duplicate. */
  synced: readonly string[];
  /** Never to be sent. */
  skipped: readonly string[];
  quarantined: readonly QuarantineEntry[];
  at: Millis;
}

/** A request and the state of its delivery. */
export interface Delivery {
  request: StoredRequest;
  quarantined: boolean;
  /** The fields that were sent. Null if that is not known. */
  sentFields: readonly string[] | null;
}

/** Delivery of requests to the cloud. Every write is on the disk when the method returns. */
export interface DeliveryStore {
  readState<Table extends CloudStateTable>(table: Table): CloudStateRow<Table>;
  /** Changes columns of the row. Idempotent. */
  updateState<Table extends CloudStateTable>(table: Table, change: Partial<CloudStateRow<Table>>): void;
  /** Saves the state of a state machine as a note, with the columns that show it, in one transaction. Idempotent. */
  saveMachineState<Table extends CloudStateTable>(
    key: string,
    json: string,
    table: Table,
    change: Partial<CloudStateRow<Table>>,
  ): void;
  /** Returns how many requests are neither sent, skipped nor in quarantine. Takes the same time for any number of them. */
  countPending(): number;
  /**
   * Returns the oldest or newest pending requests with their projects, in order of arrival. A request whose caller is
   * being looked up is left out until it is due: its project may change, and the cloud keeps the first it receives.
   */
  pendingProjects(
    limit: number,
    now: Millis,
    from?: "oldest" | "newest",
  ): { requestId: string; project: string }[];
  /** Returns when the pending request that arrived first was made. Not found: null. */
  oldestPendingAt(): Millis | null;
  /** Reads requests in the order of the IDs. Unknown IDs are left out. */
  requestsById(requestIds: readonly string[]): StoredRequest[];
  /** Stamps, quarantines and moves the cursor in one transaction. Idempotent: the first stamp stays. */
  settle(settled: SettledRequests): void;
  /**
   * Marks the oldest pending requests as skipped, so that they are never sent: at most 1,000, for a few milliseconds. Returns what
   * the next call takes as `through`, or null if nothing is left that was pending at the first call, whose `through` is null.
   * Idempotent.
   */
  skipSome(at: Millis, through: number | null): number | null;
  /**
   * Makes requests and bodies pending again that were sent at an instant or later: those of at most 2,000 requests, the newest first.
   * Returns what the next call takes as `through`, or null if nothing is left that was there at the first call, whose `through` is
   * null. Requests that were skipped or are in quarantine stay so. Idempotent.
   */
  offerAgain(sentFrom: Millis, through: number | null): number | null;
  /** Records which fields of the requests the cloud has, or may have. Idempotent: adds to what was sent earlier. */
  saveSentFields(requestIds: readonly string[], fields: readonly string[]): void;
  /** Iterates over the requests of a period, in no particular order. */
  deliveries(from: Millis, to: Millis): IterableIterator<Delivery>;
}

/** What the cloud refused for good. */
export interface QuarantineStore {
  /** Returns all entries, the oldest first. */
  list(): QuarantineEntry[];
  count(): number;
  /** Removes entries, which makes them pending again. Idempotent. Skips unknown IDs and returns the number removed. */
  release(kind: QuarantineEntry["kind"], requestIds: readonly string[]): number;
}
