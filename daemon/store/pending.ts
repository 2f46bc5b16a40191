import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { RequestCondition } from "./rollups.ts";

/** The condition that a request is neither sent, skipped nor in quarantine. */
const IS_PENDING = `synced_at IS NULL AND sync_skipped_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM cloud_quarantine AS q WHERE q.kind = 'metadata' AND q.request_id = requests.request_id)`;

/** The pending requests. Only rows after the cursor are read: none before it is pending. */
export const FROM_PENDING = `FROM requests NOT INDEXED
  WHERE seq > (SELECT cursor_seq FROM cloud_sync_state) AND ${IS_PENDING}`;

const LAST_SEQ = "coalesce((SELECT max(seq) FROM requests), 0)";

/**
 * Counts the pending requests without reading them: the numbers after the cursor, without those that are settled or unused. New
 * requests get the next numbers and are pending, so capturing them changes nothing here.
 */
export function countPending(connection: SqliteConnection): number {
  const count = connection.prepare<{ n: number }>(
    `SELECT ${LAST_SEQ} - cursor_seq - settled_after_cursor AS n FROM cloud_sync_state`,
  );
  return count.get([])?.n ?? 0;
}

/** Counts the pending requests among those for which the condition holds, by reading them. */
export function countPendingAmong(connection: SqliteConnection, { sql, values }: RequestCondition): number {
  const count = connection.prepare<{ n: number }>(
    `SELECT count(*) AS n FROM requests WHERE (${sql}) AND ${IS_PENDING}`,
  );
  return count.get(values)?.n ?? 0;
}

/**
 * Performs a change that makes requests pending or settles or deletes them, or moves the cursor. `change` returns by
 * how much the number of pending requests grew. The caller has begun a transaction.
 */
export function changePending(connection: SqliteConnection, change: () => number): number {
  const before = countPending(connection);
  const difference = change();
  connection
    .prepare(
      `UPDATE cloud_sync_state SET settled_after_cursor = max(0, ${LAST_SEQ} - cursor_seq - ?) WHERE id = 1`,
    )
    .run([before + difference]);
  return difference;
}

/** Moves the cursor to the last request before the first pending one. The caller has begun a transaction. */
export function advanceCursor(connection: SqliteConnection): void {
  connection
    .prepare(
      `UPDATE cloud_sync_state SET cursor_seq = coalesce((SELECT min(seq) - 1 ${FROM_PENDING}), ${LAST_SEQ})`,
    )
    .run([]);
}
