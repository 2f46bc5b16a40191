import type { Millis } from "../../../core/values/time.ts";

/** What a deletion removes. */
export interface Deletion {
  requests: number;
  /** Captured bodies. */
  bodies: number;
  /** Requests that were still to be sent to a cloud. */
  unsent: number;
}

/** Deletion by the user. Nothing else deletes requests. A `before` of null means everything. */
export interface DeletionStore {
  /** Counts what a deletion would remove. */
  count(before: Millis | null): Deletion;
  /**
   * Deletes a batch of what was captured before the instant, the oldest first, and returns its size. Call it until both
   * counts are 0, then `finish()`; capture continues in between. No copy is left in the database's files.
   */
  deleteSome(before: Millis | null): Omit<Deletion, "unsent">;
  /** Deletes requests with their bodies in one transaction, for self-tests. Idempotent. Skips unknown IDs. */
  deleteRequests(requestIds: readonly string[]): void;
  /**
   * Removes coverage and reports of clients before the instant and quarantine entries of deleted requests, and empties the WAL. A deletion of
   * everything also removes the origins and merges of projects, and how far logs of agents were imported. What was deleted before an instant is not imported from logs again. Idempotent. `shrink` returns the space to the file system.
   */
  finish(before: Millis | null, shrink: boolean): void;
}
