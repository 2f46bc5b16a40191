import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import { readCloudState, updateCloudState } from "./cloud-state.ts";
import type { StoreConnections } from "./connections.ts";
import { advanceCursor, changePending, countPending, countPendingAmong, FROM_PENDING } from "./pending.ts";
import { awaitedDueTimes } from "./port/attribution-due.ts";
import type { Delivery, DeliveryStore, SettledRequests } from "./port/delivery.ts";
import type { StoredRequest } from "./port/records.ts";
import { insertQuarantineRows } from "./quarantine.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import { readLastSeq, requestsById } from "./rollups.ts";
import { addSentFields, readSentFieldLists } from "./sent-fields.ts";

/** How many requests one transaction skips at most: about 7 ms. */
const SKIPPED_ROWS = 1_000;

/** How many requests one transaction offers again at most: about 20 ms. */
const OFFERED_ROWS = 2_000;

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
    countPending: () => countPending(state),
    pendingProjects: (limit, now, from = "oldest") => readPendingProjects(state, limit, now, from),
    oldestPendingAt: () =>
      state.prepare<{ at: number }>(`SELECT requested_at AS at ${FROM_PENDING} ORDER BY seq LIMIT 1`).get([])
        ?.at ?? null,
    requestsById: (requestIds) => readRequestsById(state, requestIds),
    settle: (settled) => state.transaction(() => settleRequests(state, settled)),
    skipSome: (at, through) => state.transaction(() => skipSome(state, at, through)),
    offerAgain: (sentFrom, through) => state.transaction(() => offerAgain(state, sentFrom, through)),
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
      `SELECT request_id, project ${FROM_PENDING}
         AND (attribution_due IS NULL OR attribution_due NOT BETWEEN ? AND ?)
       ORDER BY seq ${from === "oldest" ? "ASC" : "DESC"} LIMIT ?`,
    )
    .all([...awaitedDueTimes(now), limit])
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
  const ids = [...synced, ...skipped, ...quarantined.map(({ requestId }) => requestId)];
  changePending(state, () => {
    const settled = countPendingAmong(state, requestsById(ids));
    for (const id of synced) stampSynced.run([at, id]);
    for (const id of skipped) stampSkipped.run([at, id]);
    insertQuarantineRows(state, quarantined);
    advanceCursor(state);
    return -settled;
  });
}

function skipSome(state: SqliteConnection, at: Millis, through: number | null): number | null {
  const last = through ?? readLastSeq(state);
  const skipped = -changePending(state, () => {
    const changed = state
      .prepare(
        `UPDATE requests SET sync_skipped_at = ?
         WHERE seq IN (SELECT seq ${FROM_PENDING} AND seq <= ? ORDER BY seq LIMIT ${SKIPPED_ROWS})`,
      )
      .run([at, last]);
    advanceCursor(state);
    return -changed;
  });
  return skipped < SKIPPED_ROWS ? null : last;
}

function offerAgain(state: SqliteConnection, sentFrom: Millis, through: number | null): number | null {
  const last = through ?? readLastSeq(state);
  const before = last - OFFERED_ROWS;
  const range = [before, last];
  changePending(state, () => {
    const condition = { sql: "seq > ? AND seq <= ?", values: range };
    const pending = countPendingAmong(state, condition);
    state
      .prepare("UPDATE requests SET synced_at = NULL WHERE seq > ? AND seq <= ? AND synced_at >= ?")
      .run([...range, sentFrom]);
    state
      .prepare(
        `UPDATE request_bodies SET uploaded_at = NULL WHERE uploaded_at >= ?
           AND request_id IN (SELECT request_id FROM requests WHERE seq > ? AND seq <= ?)`,
      )
      .run([sentFrom, ...range]);
    const offered = countPendingAmong(state, condition) - pending;
    if (offered > 0) {
      state
        .prepare("UPDATE cloud_sync_state SET cursor_seq = max(0, min(cursor_seq, ?)) WHERE id = 1")
        .run([before]);
    }
    return offered;
  });
  return before > 0 ? before : null;
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
