import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import { readCloudState, updateCloudState } from "./cloud-state.ts";
import type { StoreConnections } from "./connections.ts";
import {
  ATTRIBUTION_DUE_MS,
  type Delivery,
  type DeliveryStore,
  type SettledRequests,
} from "./port/delivery.ts";
import type { StoredRequest } from "./port/records.ts";
import { insertQuarantineRows } from "./quarantine.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import { addSentFields, readSentFieldLists } from "./sent-fields.ts";

/** The pending requests. Only rows after the cursor are read. */
const pendingSql = `FROM requests NOT INDEXED
  WHERE seq > (SELECT cursor_seq FROM cloud_sync_state) AND synced_at IS NULL AND sync_skipped_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM cloud_quarantine AS q
                    WHERE q.kind = 'metadata' AND q.request_id = requests.request_id)`;

/** Implements `DeliveryStore`. */
export function createDeliveryStore({ state }: Pick<StoreConnections, "state">): DeliveryStore {
  return {
    readState: (table) => readCloudState(state, table),
    updateState: (table, change) => updateCloudState(state, table, change),
    saveMachineState: (key, json, table, change) =>
      state.transaction(() => {
        state.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run([key, json]);
        updateCloudState(state, table, change);
      }),
    countPending: () => state.prepare<{ n: number }>(`SELECT count(*) AS n ${pendingSql}`).get([])?.n ?? 0,
    pendingProjects: (limit, now, from = "oldest") => readPendingProjects(state, limit, now, from),
    oldestPendingAt: () =>
      state.prepare<{ at: number }>(`SELECT requested_at AS at ${pendingSql} ORDER BY seq LIMIT 1`).get([])
        ?.at ?? null,
    requestsById: (requestIds) => readRequestsById(state, requestIds),
    settle: (settled) => state.transaction(() => settleRequests(state, settled)),
    skipPending: (at) => state.transaction(() => skipPending(state, at)),
    saveSentFields: (requestIds, fields) => state.transaction(() => addSentFields(state, requestIds, fields)),
    deliveries: (from, to) => iterateDeliveries(state, from, to),
  };
}

function readPendingProjects(
  state: SqliteConnection,
  limit: number,
  now: Millis,
  from: "oldest" | "newest",
): { requestId: string; project: string }[] {
  const rows = state
    .prepare<{ request_id: string; project: string }>(
      `SELECT request_id, project ${pendingSql}
         AND (attribution_due IS NULL OR attribution_due NOT BETWEEN ? AND ?)
       ORDER BY seq ${from === "oldest" ? "ASC" : "DESC"} LIMIT ?`,
    )
    // A later due time was set before the clock was set back.
    .all([now, now + ATTRIBUTION_DUE_MS, limit])
    .map((row) => ({ requestId: row.request_id, project: row.project }));
  return from === "oldest" ? rows : rows.reverse();
}

function readRequestsById(state: SqliteConnection, requestIds: readonly string[]): StoredRequest[] {
  const find = state.prepare<RequestRow>("SELECT * FROM requests WHERE request_id = ?");
  return requestIds.flatMap((id) => {
    const row = find.get([id]);
    return row === null ? [] : [toStoredRequest(row)];
  });
}

function settleRequests(
  state: SqliteConnection,
  { synced, skipped, quarantined, at }: SettledRequests,
): void {
  const stamp = (column: string) =>
    state.prepare(`UPDATE requests SET ${column} = coalesce(${column}, ?) WHERE request_id = ?`);
  const stampSynced = stamp("synced_at");
  const stampSkipped = stamp("sync_skipped_at");
  for (const id of synced) stampSynced.run([at, id]);
  for (const id of skipped) stampSkipped.run([at, id]);
  insertQuarantineRows(state, quarantined);
  state
    .prepare(
      `UPDATE cloud_sync_state SET cursor_seq =
         coalesce((SELECT min(seq) - 1 ${pendingSql}), (SELECT max(seq) FROM requests), 0)`,
    )
    .run([]);
}

function skipPending(state: SqliteConnection, at: Millis): number {
  const skipped = state
    .prepare(`UPDATE requests SET sync_skipped_at = ? WHERE seq IN (SELECT seq ${pendingSql})`)
    .run([at]);
  state
    .prepare("UPDATE cloud_sync_state SET cursor_seq = coalesce((SELECT max(seq) FROM requests), 0)")
    .run([]);
  return skipped;
}

function* iterateDeliveries(state: SqliteConnection, from: Millis, to: Millis): IterableIterator<Delivery> {
  const sentFieldLists = readSentFieldLists(state);
  const rows = state.prepare<RequestRow & { quarantined: number }>(
    `SELECT *, EXISTS (SELECT 1 FROM cloud_quarantine AS q
         WHERE q.kind = 'metadata' AND q.request_id = requests.request_id) AS quarantined
       FROM requests WHERE requested_at >= ? AND requested_at < ?`,
  );
  for (const row of rows.iterate([from, to])) {
    const sentFields = sentFieldLists.get(row.sent_fields_id) ?? null;
    yield { request: toStoredRequest(row), quarantined: row.quarantined === 1, sentFields };
  }
}
