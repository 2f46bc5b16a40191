import type { RejectedRecord } from "../sync/mod.ts";
import type { Millis } from "../time.ts";
import type { BodyRef } from "../uploader/mod.ts";

/** The records that wait for the cloud. */
export interface SyncStore {
  /** Ids of records that are neither synced nor skipped nor in quarantine, oldest first, at most `limit`. */
  selectPending(limit: number): Promise<readonly string[]>;
  /** Stamps `synced_at`. A record that has one keeps it; an unknown id is passed over. Durable when it resolves. */
  markSynced(requestIds: readonly string[], at: Millis): Promise<void>;
  /** Puts records into `cloud_quarantine`. One that is there stays as it is; an unknown id is passed over. Durable when it resolves. */
  quarantine(records: readonly RejectedRecord[], at: Millis): Promise<void>;
}

/** The captured legs that wait for the cloud. */
export interface BodyStore {
  /**
   * Legs of synced requests, neither uploaded nor in quarantine, behind the position `after` (`null`: from the
   * beginning), in the order of their positions, at most `limit`. A position that is gone still orders.
   */
  selectPending(after: string | null, limit: number): Promise<readonly BodyRef[]>;
  /** Stamps `uploaded_at`. A leg that has one keeps it; an unknown one is passed over. Durable when it resolves. */
  markUploaded(requestId: string, direction: BodyRef["direction"], at: Millis): Promise<void>;
  /** Puts a leg into `cloud_quarantine`. One that is there stays as it is; an unknown one is passed over. Durable when it resolves. */
  quarantine(requestId: string, direction: BodyRef["direction"], reason: string, at: Millis): Promise<void>;
}
