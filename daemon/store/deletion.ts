import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/time.ts";
import type { StoreConnections } from "./connections.ts";

/** What a deletion by the user took away, or would. */
export interface Deletion {
  requests: number;
  /** Captured legs. */
  bodies: number;
  /** Requests among them that were never sent to a cloud that they were to be sent to. */
  unsent: number;
}

/** The user's own deletions. Nothing else deletes requests. */
export interface DeletionStore {
  /** What was captured before the instant, `null` for everything. */
  countDeletion(before: Millis | null): Deletion;
  /**
   * Deletes a part of what was captured before the instant, for good, the oldest first: no copy stays in the file or,
   * once `finishDeletion()` is done, in the WAL. Call it until both counts are 0; capture goes on in between.
   */
  deleteSome(before: Millis | null): Omit<Deletion, "unsent">;
  /** Deletes these requests and what was captured of them: those of a self-test, which nobody made. */
  deleteRequests(requestIds: readonly string[]): void;
  /** Empties the WAL, forgets coverage and quarantine of what is gone. `shrink` gives the space back to the system. */
  finishDeletion(before: Millis | null, shrink: boolean): void;
}

/** Requests deleted in one transaction, so that capture is not kept waiting. */
const batchSize = 500;

/** Captured legs deleted in one transaction: each may be half a megabyte that is overwritten. */
const bodyBatchSize = 100;

/** Later than any capture, and still an integer that SQLite holds. */
const anyTime = Number.MAX_SAFE_INTEGER;

/**
 * SQLite gives a deleted last row's number to the next one. A cursor that stayed where it was would pass over what is
 * captured after a deletion, so it goes back in the same transaction.
 */
export function lowerCursors(state: SqliteConnection): void {
  const lower = (table: string, cursor: string, key: string, owner: string) =>
    state
      .prepare(
        `UPDATE ${table} SET ${cursor} = min(${cursor}, coalesce((SELECT max(${key}) FROM ${owner}), 0))`,
      )
      .run([]);
  lower("cloud_sync_state", "cursor_seq", "seq", "requests");
  lower("cloud_body_sync_state", "cursor_body_id", "body_id", "request_bodies");
}

/** Makes the part of the store that deletes. */
export function createDeletionStore({ state }: Pick<StoreConnections, "state">): DeletionStore {
  const one = (sql: string, before: number) => state.prepare<{ n: number }>(sql).get([before])?.n ?? 0;
  return {
    countDeletion(before) {
      const until = before ?? anyTime;
      return {
        requests: one("SELECT count(*) AS n FROM requests WHERE requested_at < ?", until),
        bodies: one("SELECT count(*) AS n FROM request_bodies WHERE captured_at < ?", until),
        unsent: one(
          `SELECT count(*) AS n FROM requests WHERE requested_at < ? AND synced_at IS NULL AND sync_skipped_at IS NULL
             AND (SELECT enabled FROM cloud_state) = 1`,
          until,
        ),
      };
    },

    deleteSome(before) {
      const until = before ?? anyTime;
      return state.transaction(() => {
        // Bodies by their own time, and those of requests that go: a response may have come after the instant.
        const bodies = state
          .prepare(
            `DELETE FROM request_bodies WHERE body_id IN (SELECT body_id FROM request_bodies AS b
               WHERE captured_at < ? OR EXISTS (SELECT 1 FROM requests AS r
                 WHERE r.request_id = b.request_id AND r.requested_at < ?)
               ORDER BY captured_at LIMIT ${bodyBatchSize})`,
          )
          .run([until, until]);
        const requests =
          bodies > 0
            ? 0
            : state
                .prepare(
                  `DELETE FROM requests WHERE seq IN
                     (SELECT seq FROM requests WHERE requested_at < ? ORDER BY requested_at LIMIT ${batchSize})`,
                )
                .run([until]);
        lowerCursors(state);
        return { requests, bodies };
      });
    },

    deleteRequests: (requestIds) =>
      state.transaction(() => {
        for (const id of requestIds) {
          state.prepare("DELETE FROM request_bodies WHERE request_id = ?").run([id]);
          state.prepare("DELETE FROM requests WHERE request_id = ?").run([id]);
        }
        lowerCursors(state);
      }),

    finishDeletion(before, shrink) {
      state.transaction(() => {
        state.prepare("DELETE FROM coverage WHERE slot < ?").run([before ?? anyTime]);
        state
          .prepare(
            `DELETE FROM cloud_quarantine WHERE
               (kind = 'metadata' AND request_id NOT IN (SELECT request_id FROM requests))
               OR (kind = 'body' AND request_id NOT IN (SELECT request_id FROM request_bodies))`,
          )
          .run([]);
      });
      if (shrink) state.execute("VACUUM");
      // Else the WAL would keep the old pages until it is written over.
      state.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all([]);
    },
  };
}
