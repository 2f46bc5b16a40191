import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { RECORD_FIELDS, storedFields } from "../../core/values/record-fields.ts";
import type { Millis } from "../../core/values/time.ts";
import { noteBudgetsChanged } from "./budgets.ts";
import type { StoreConnections } from "./connections.ts";
import { changePending, countPendingAmong } from "./pending.ts";
import type {
  CostUpdate,
  FoundRequest,
  RecordStore,
  RequestRange,
  StoredRequest,
  StoredResponse,
} from "./port/records.ts";
import type { Period } from "./port/values.ts";
import { listRequests } from "./request-list.ts";
import { bindRecord, capturedColumns, type RequestRow, toStoredRequest } from "./request-rows.ts";
import { changeRequests, readLastSeq, requestsById } from "./rollups.ts";
import { findLatestByColumn, inUsageSnapshot } from "./usage-parts.ts";

/** How many IDs an ambiguous prefix lists. */
const maxAmbiguous = 10;

/** The columns that a complete usage replaces in a record with incomplete usage. The other columns stay. */
const usageColumns = storedFields.filter(({ fillable }) => fillable === true).map(({ column }) => column);

const insertSql = `INSERT INTO requests (${capturedColumns.join(", ")})
  VALUES (${capturedColumns.map(() => "?").join(", ")}) ON CONFLICT (request_id) DO NOTHING`;

/** A response that completes a record may not name the model. Then the record keeps the model that it has. */
const fillColumn = (name: string) =>
  name === "model" ? `model = coalesce(nullif(?, 'unknown'), model)` : `${name} = ?`;

/** Completes the usage of a record. A record that was already sent is sent again, and the cloud completes its copy. */
const fillSql = `UPDATE requests SET ${usageColumns.map(fillColumn).join(", ")}, synced_at = NULL
  WHERE request_id = ? AND tokens_complete = 0`;

/** Moves the cursor back to the record, since the sync only reads rows after it. */
const rewindCursorSql = `UPDATE cloud_sync_state
  SET cursor_seq = min(cursor_seq, (SELECT seq - 1 FROM requests WHERE request_id = ?))`;

const usageIndexes = usageColumns.map((name) => capturedColumns.indexOf(name));

/** Returns the SQL condition and the values of a period. `requested_at` is indexed. */
function periodSql(period: Period): { sql: string; values: number[] } {
  const parts: [string, number][] = [];
  if (period.from !== null) parts.push(["requested_at >= ?", period.from]);
  if (period.to !== null) parts.push(["requested_at < ?", period.to]);
  return { sql: parts.map(([sql]) => ` AND ${sql}`).join(""), values: parts.map(([, value]) => value) };
}

/** The values of one row. The array is reused, since the driver reads it during the call. */
const values: SqliteValue[] = [];

/** Inserts records. `onExisting` is called for one that is stored already, before it is completed. The caller has begun a transaction. */
export function insertRecordRows(
  connection: SqliteConnection,
  records: readonly RequestRecord[],
  onExisting: (requestId: string) => void = () => {},
): void {
  const insert = connection.prepare(insertSql);
  for (const record of records) {
    bindRecord(record, values);
    if (insert.run(values) > 0) continue;
    onExisting(record.requestId);
    if (record.tokensComplete) fillRow(connection, record.requestId);
  }
}

/** Completes the usage of a record from `values`. The caller has begun a transaction. */
function fillRow(connection: SqliteConnection, requestId: string): void {
  const usage = usageIndexes.map((index) => values[index] as SqliteValue);
  const record = requestsById([requestId]);
  changePending(connection, () => {
    const before = countPendingAmong(connection, record);
    const filled = changeRequests(connection, record, () =>
      connection.prepare(fillSql).run([...usage, requestId]),
    );
    if (filled > 0) connection.prepare(rewindCursorSql).run([requestId]);
    return countPendingAmong(connection, record) - before;
  });
}

/** What is known of a call once its caller is. */
const ATTRIBUTED_FIELDS = [
  ...(["project", "attributionTier", "sourceWorkdir", "client"] as const),
  ...(["gitBranch", "gitCommit", "gitRemote", "pullRequest", "sessionId", "sessionSource"] as const),
] as const;

/** Updates the attribution of a record, unless the record was sent or the user moved it. */
const attributeSql = `UPDATE requests
  SET ${ATTRIBUTED_FIELDS.map((name) => `${RECORD_FIELDS[name].column} = ?`).join(", ")}, attribution_due = NULL
  WHERE request_id = ? AND attribution_due IS NOT NULL AND synced_at IS NULL AND reassigned_at IS NULL`;

/** Updates the attribution of records that were stored before their callers were known. The caller has begun a transaction. */
export function attributeRecordRows(
  connection: SqliteConnection,
  attributed: readonly RequestRecord[],
): void {
  if (attributed.length === 0) return;
  const attribute = connection.prepare(attributeSql);
  changeRequests(connection, requestsById(attributed.map(({ requestId }) => requestId)), () => {
    for (const record of attributed)
      attribute.run([...ATTRIBUTED_FIELDS.map((name) => record[name]), record.requestId]);
  });
}

/** Implements `RecordStore`. */
export function createRecordStore({ capture, state, reads }: StoreConnections): RecordStore {
  return {
    insert: (records) => capture.transaction(() => insertRecordRows(capture, records)),
    find: async (text) => findRequest(reads, text.trim()),
    get: async (requestId) => getRequest(reads, requestId),
    latestId: () =>
      state
        .prepare<{ id: string }>("SELECT request_id AS id FROM requests ORDER BY requested_at DESC LIMIT 1")
        .get([])?.id ?? null,
    lastSeq: () => readLastSeq(state),
    lastCaptures: (since) =>
      inUsageSnapshot(reads, (usage) =>
        findLatestByColumn(usage, { from: since, to: Number.POSITIVE_INFINITY }, "client", {
          record_source: "wire",
        }),
      ).map(([client, at]) => ({ client, at })),
    findStoredResponse: (providerResponseId) => findStoredResponse(capture, providerResponseId),
    read: (range) => readRequests(state, range),
    list: (query, turn, signal) => listRequests(reads, query, turn, signal),
    shortenIds: (requestIds, minLength) => shortenIds(state, requestIds, minLength),
    count: (period) => countRequests(state, period),
    updateCosts: (updates, at) =>
      state.transaction(() => {
        noteBudgetsChanged(state);
        return changeRequests(state, requestsById(updates.map(({ requestId }) => requestId)), () =>
          updateCosts(state, updates, at),
        );
      }),
  };
}

function findRequest(reads: SqliteConnection, id: string): FoundRequest {
  if (/^[0-9a-f-]{1,36}$/i.test(id)) {
    const prefix = id.toLowerCase();
    const rows = reads
      .prepare<RequestRow>(
        "SELECT * FROM requests WHERE request_id >= ? AND request_id < ? ORDER BY request_id LIMIT ?",
      )
      .all([prefix, `${prefix}~`, maxAmbiguous]);
    const [row] = rows;
    if (rows.length > 1) return { kind: "ambiguous", requestIds: rows.map((each) => each.request_id) };
    if (row !== undefined) return { kind: "found", request: toStoredRequest(row) };
  }
  if (id === "") return { kind: "not_found" };
  // Reads the whole table without an index: 0.3 s for a million requests. Only commands of the user do this.
  const row = reads
    .prepare<RequestRow>("SELECT * FROM requests WHERE provider_response_id = ? ORDER BY seq DESC LIMIT 1")
    .get([id]);
  return row === null ? { kind: "not_found" } : { kind: "found", request: toStoredRequest(row) };
}

function getRequest(reads: SqliteConnection, requestId: string): StoredRequest | null {
  const row = reads
    .prepare<RequestRow>("SELECT * FROM requests WHERE request_id = ?")
    .get([requestId.toLowerCase()]);
  return row === null ? null : toStoredRequest(row);
}

function findStoredResponse(capture: SqliteConnection, providerResponseId: string): StoredResponse | null {
  const row = capture
    .prepare<{ id: string; complete: number }>(
      `SELECT request_id AS id, tokens_complete AS complete FROM requests
       WHERE provider_response_id = ? AND response_kept = 1 ORDER BY seq LIMIT 1`,
    )
    .get([providerResponseId]);
  return row === null ? null : { requestId: row.id, tokensComplete: row.complete === 1 };
}

function readRequests(
  state: SqliteConnection,
  { afterSeq, limit, ...period }: RequestRange,
): StoredRequest[] {
  const bounds = periodSql(period);
  return state
    .prepare<RequestRow>(`SELECT * FROM requests NOT INDEXED WHERE seq > ?${bounds.sql} ORDER BY seq LIMIT ?`)
    .all([afterSeq, ...bounds.values, limit])
    .map(toStoredRequest);
}

function shortenIds(state: SqliteConnection, requestIds: readonly string[], minLength: number): string[] {
  // In the order of the index, only the neighbours of an ID can share its longest prefix.
  const neighbours = state.prepare<{ id: string | null }>(
    `SELECT max(request_id) AS id FROM requests WHERE request_id < ?
     UNION ALL SELECT min(request_id) FROM requests WHERE request_id > ?`,
  );
  let length = minLength;
  for (const requestId of requestIds) {
    for (const { id } of neighbours.all([requestId, requestId])) {
      if (id !== null) length = Math.max(length, sharedLength(requestId, id) + 1);
    }
  }
  return requestIds.map((requestId) => requestId.slice(0, length));
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

function countRequests(state: SqliteConnection, period: Period): number {
  const bounds = periodSql(period);
  const row = state
    .prepare<{ n: number }>(`SELECT count(*) AS n FROM requests WHERE 1${bounds.sql}`)
    .get(bounds.values);
  return row?.n ?? 0;
}

function updateCosts(state: SqliteConnection, updates: readonly CostUpdate[], at: Millis): number {
  const update = state.prepare(
    `UPDATE requests SET cost_pico_usd = ?, cost_source = ?, rates_source = ?, recomputed_at = ?
     WHERE request_id = ?`,
  );
  let found = 0;
  for (const { requestId, costPicoUsd, costSource, ratesSource } of updates)
    found += update.run([costPicoUsd, costSource, ratesSource, at, requestId]);
  return found;
}
