import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { StoreConnections } from "./connections.ts";
import { changePending, countPendingAmong } from "./pending.ts";
import type { QuarantineEntry, QuarantineStore } from "./port/delivery.ts";
import type { BodyDirection } from "./port/values.ts";
import { requestsById } from "./rollups.ts";
import type { Tables } from "./tables.ts";

type QuarantineRow = Tables["cloud_quarantine"];

/** Implements `QuarantineStore`. */
export function createQuarantineStore({ state }: Pick<StoreConnections, "state">): QuarantineStore {
  return {
    list: () =>
      state
        .prepare<QuarantineRow>("SELECT * FROM cloud_quarantine ORDER BY quarantined_at, request_id")
        .all([])
        .map(toQuarantineEntry),
    count: () => state.prepare<{ n: number }>("SELECT count(*) AS n FROM cloud_quarantine").get([])?.n ?? 0,
    release: (kind, requestIds) => state.transaction(() => releaseEntries(state, kind, requestIds)),
  };
}

/** Inserts entries that do not exist yet. The caller has begun a transaction. */
export function insertQuarantineRows(state: SqliteConnection, entries: readonly QuarantineEntry[]): void {
  const insert = state.prepare(
    `INSERT INTO cloud_quarantine (kind, request_id, direction, reason, http_status, quarantined_at)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  for (const { kind, requestId, direction, reason, httpStatus, quarantinedAt } of entries)
    insert.run([kind, requestId, direction ?? "", reason, httpStatus, quarantinedAt]);
}

function toQuarantineEntry(row: QuarantineRow): QuarantineEntry {
  return {
    kind: row.kind as QuarantineEntry["kind"],
    requestId: row.request_id,
    direction: row.direction === "" ? null : (row.direction as BodyDirection),
    reason: row.reason,
    httpStatus: row.http_status,
    quarantinedAt: row.quarantined_at,
  };
}

/** Removes entries and moves the cursor back to the first of their rows. The caller has begun a transaction. */
function releaseEntries(
  state: SqliteConnection,
  kind: QuarantineEntry["kind"],
  requestIds: readonly string[],
): number {
  if (kind === "body")
    return removeEntries(state, kind, requestIds, [
      "cloud_body_sync_state",
      "cursor_body_id",
      "body_id",
      "request_bodies",
    ]);
  let released = 0;
  changePending(state, () => {
    const before = countPendingAmong(state, requestsById(requestIds));
    released = removeEntries(state, kind, requestIds, ["cloud_sync_state", "cursor_seq", "seq", "requests"]);
    return countPendingAmong(state, requestsById(requestIds)) - before;
  });
  return released;
}

function removeEntries(
  state: SqliteConnection,
  kind: QuarantineEntry["kind"],
  requestIds: readonly string[],
  [table, cursor, key, owner]: readonly [table: string, cursor: string, key: string, owner: string],
): number {
  const remove = state.prepare("DELETE FROM cloud_quarantine WHERE kind = ? AND request_id = ?");
  const moveCursorBack = state.prepare(
    `UPDATE ${table} SET ${cursor} = min(${cursor},
       coalesce((SELECT min(${key}) - 1 FROM ${owner} WHERE request_id = ?), ${cursor}))`,
  );
  let released = 0;
  for (const id of requestIds) {
    released += remove.run([kind, id]);
    moveCursorBack.run([id]);
  }
  return released;
}
