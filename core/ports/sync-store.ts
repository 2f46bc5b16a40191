import type { Millis } from "../values/time.ts";

/** A record that the cloud rejected by id in a 200. */
export interface RejectedRecord {
  readonly requestId: string;
  readonly code: string;
  readonly message: string;
}

/** A captured body that waits for its upload; its metadata is synced. */
export interface BodyRef {
  readonly requestId: string;
  readonly direction: "request" | "response";
  readonly project: string;
  readonly capturedAt: Millis;
  /** Stored bytes, UTF-8. */
  readonly sizeBytes: number;
  /** Its position in the store's order; opaque, passed back as `after`. */
  readonly position: string;
}

/** The records that wait for the cloud. */
export interface SyncStore {
  /** Ids of records that are neither synced nor skipped nor in quarantine, oldest first, at most `limit`. */
  selectPending(limit: number): Promise<readonly string[]>;
  /** Stamps `synced_at`. A record that has one keeps it; unknown ids are ignored. Durable when it resolves. */
  markSynced(requestIds: readonly string[], at: Millis): Promise<void>;
  /** Puts records into `cloud_quarantine`. Idempotent; unknown ids are ignored. Durable when it resolves. */
  quarantine(records: readonly RejectedRecord[], at: Millis): Promise<void>;
}

/** The captured bodies that wait for the cloud. */
export interface BodyStore {
  /**
   * Returns at most `limit` bodies of synced requests that are neither uploaded nor in quarantine, after the position
   * `after` (`null`: from the beginning), ordered by position. `after` may name a body that no longer exists.
   */
  selectPending(after: string | null, limit: number): Promise<readonly BodyRef[]>;
  /** Stamps `uploaded_at`. A body that has one keeps it; an unknown body is ignored. Durable when it resolves. */
  markUploaded(requestId: string, direction: BodyRef["direction"], at: Millis): Promise<void>;
  /** Puts a body into `cloud_quarantine`. Idempotent; an unknown body is ignored. Durable when it resolves. */
  quarantine(requestId: string, direction: BodyRef["direction"], reason: string, at: Millis): Promise<void>;
}
