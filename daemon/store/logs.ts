import { type LinkableCall, linkPullRequests } from "../../core/metering/agent-logs/link-pull-requests.ts";
import type { PullRequestLink } from "../../core/metering/agent-logs/log-entry.ts";
import type { WireCall } from "../../core/metering/agent-logs/match-entries.ts";
import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { RequestRecord, TokenCounts } from "../../core/values/record.ts";
import { storedFields } from "../../core/values/record-fields.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import { deleteRows, LOG_TABLES, readPrunedBefore } from "./deletion.ts";
import { advanceCursor, changePending } from "./pending.ts";
import type { LogBatch, LogChanges, LogMatch, LogPosition, LogStore } from "./port/logs.ts";
import { insertRecordRows } from "./records.ts";
import { bindRecord, capturedColumns, type RequestRow, toStoredRequest } from "./request-rows.ts";
import { TOKEN_COLUMNS } from "./rollup-definition.ts";
import { changeRequests, requestsById } from "./rollups.ts";

/** How many requests one transaction deletes, so that capture does not wait long. */
const BATCH = 500;

const FROM_LOGS = "record_source = 'logs'";

/** The columns of a record that larger counts replace. Its project and the cost of a recomputation follow from them. */
const USAGE_COLUMNS = storedFields
  .filter(
    ({ fillable, column }) => fillable === true || column === "requested_at" || column === "billing_mode",
  )
  .map(({ column }) => column);

const USAGE_INDEXES = USAGE_COLUMNS.map((column) => capturedColumns.indexOf(column));

const POSITION_COLUMNS = {
  path: "path",
  agent: "agent",
  format: "format",
  readerVersion: "reader_version",
  fileId: "file_id",
  size: "size",
  modifiedAt: "modified_at",
  offset: "read_bytes",
  line: "read_lines",
  tailHash: "tail_hash",
  state: "state",
} as const satisfies Record<keyof LogPosition, string>;

const positionNames = Object.keys(POSITION_COLUMNS) as (keyof LogPosition)[];

/** Implements `LogStore`. */
export function createLogStore({ state }: Pick<StoreConnections, "state">): LogStore {
  return {
    position: (path) =>
      state
        .prepare<LogPosition>(
          `SELECT ${positionNames.map((name) => `${POSITION_COLUMNS[name]} AS "${name}"`).join(", ")}
           FROM log_files WHERE path = ?`,
        )
        .get([path]),
    save: (batch, at) => state.transaction(() => saveBatch(state, batch, at)),
    linkPullRequests: () => readLinkedSessions(state).reduce((sum, id) => sum + linkSession(state, id), 0),
    matched: (entryIds) => findIds(state, "log_matches", "entry_id", entryIds),
    prunedBefore: () => readPrunedBefore(state),
    matchesOf: (requestIds) =>
      state
        .prepare<LogMatch>(
          `SELECT entry_id AS entryId, request_id AS requestId, agent FROM log_matches
           WHERE request_id IN (SELECT value FROM json_each(?))`,
        )
        .all([JSON.stringify(requestIds)]),
    stored: (entryIds) => findIds(state, "requests", "request_id", entryIds),
    freeWireCalls: (from, to) => readFreeWireCalls(state, from, to),
    firstWireCall: (clients) =>
      state
        .prepare<{ at: Millis }>(
          `SELECT requested_at AS at FROM requests WHERE record_source IS NOT 'logs'
             ${clients === null ? "" : "AND client IN (SELECT value FROM json_each(?))"}
           ORDER BY requested_at LIMIT 1`,
        )
        .get(clients === null ? [] : [JSON.stringify(clients)])?.at ?? null,
    readSince: (at, afterSeq, limit) =>
      state
        .prepare<RequestRow>(
          `SELECT * FROM requests WHERE ${FROM_LOGS} AND (requested_at, seq) > (?, ?)
           ORDER BY requested_at, seq LIMIT ?`,
        )
        .all([at, afterSeq, limit])
        .map(toStoredRequest),
    count: (agent) =>
      state
        .prepare<{ n: number }>(`SELECT count(*) AS n FROM requests WHERE ${ofAgent(agent).sql}`)
        .get(ofAgent(agent).values)?.n ?? 0,
    removeSome: (agent) => state.transaction(() => removeSome(state, agent)),
    forget: (agent) => state.transaction(() => forgetLogs(state, agent)),
  };
}

function findIds(
  state: SqliteConnection,
  table: string,
  column: string,
  ids: readonly string[],
): Set<string> {
  const find = state.prepare<{ id: string }>(
    `SELECT ${column} AS id FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`,
  );
  return new Set(find.all([JSON.stringify(ids)]).map(({ id }) => id));
}

function saveBatch(
  state: SqliteConnection,
  { records, matches, position, links = [] }: LogBatch,
  at: Millis,
): LogChanges {
  const changes = saveRecords(state, records, at);
  if (matches.length > 0) saveMatches(state, matches);
  const link = state.prepare(
    `INSERT OR REPLACE INTO log_pull_requests (session_id, linked_at, pull_request, agent) VALUES (?, ?, ?, ?)`,
  );
  for (const each of links) link.run([each.session, each.at, each.pullRequest, each.agent]);
  if (position !== null)
    state
      .prepare(
        `INSERT OR REPLACE INTO log_files (${positionNames.map((name) => POSITION_COLUMNS[name]).join(", ")})
         VALUES (${positionNames.map(() => "?").join(", ")})`,
      )
      .run(positionNames.map((name) => position[name]));
  return changes;
}

const total = (tokens: TokenCounts) =>
  Object.entries(tokens).reduce(
    (sum, [name, count]) => sum + (name === "cacheWrite1hTokens" ? 0 : (count ?? 0)),
    0,
  );

/** The tokens of each of the records that are stored. */
function readStored(state: SqliteConnection, records: readonly RequestRecord[]): Map<string, number> {
  const { sql, values } = requestsById(records.map(({ requestId }) => requestId));
  const sum = TOKEN_COLUMNS.filter((column) => column !== "cache_write_1h_tokens")
    .map((column) => `coalesce(${column}, 0)`)
    .join(" + ");
  const rows = state
    .prepare<{ id: string; tokens: number }>(
      `SELECT request_id AS id, ${sum} AS tokens FROM requests WHERE ${sql}`,
    )
    .all(values);
  return new Map(rows.map(({ id, tokens }) => [id, tokens]));
}

function saveRecords(state: SqliteConnection, records: readonly RequestRecord[], at: Millis): LogChanges {
  if (records.length === 0) return { added: 0, grown: 0 };
  const stored = readStored(state, records);
  const added = records.filter(({ requestId }) => !stored.has(requestId));
  const grown = records.filter(
    ({ requestId, tokens }) => total(tokens) > (stored.get(requestId) ?? Infinity),
  );
  if (added.length > 0) insertUnsent(state, added, at);
  if (grown.length > 0) updateUsage(state, grown);
  return { added: added.length, grown: grown.length };
}

/** Inserts records that the sync skips. */
function insertUnsent(state: SqliteConnection, records: readonly RequestRecord[], at: Millis): void {
  insertRecordRows(state, records);
  const { sql, values } = requestsById(records.map(({ requestId }) => requestId));
  changePending(state, () => {
    const skipped = state
      .prepare(`UPDATE requests SET sync_skipped_at = ? WHERE ${sql}`)
      .run([at, ...values]);
    advanceCursor(state);
    return -skipped;
  });
}

function updateUsage(state: SqliteConnection, records: readonly RequestRecord[]): void {
  const update = state.prepare(
    `UPDATE requests SET ${USAGE_COLUMNS.map((column) => `${column} = ?`).join(", ")} WHERE request_id = ?`,
  );
  const values: SqliteValue[] = [];
  changeRequests(state, requestsById(records.map(({ requestId }) => requestId)), () => {
    for (const record of records) {
      bindRecord(record, values);
      update.run([...USAGE_INDEXES.map((index) => values[index] as SqliteValue), record.requestId]);
    }
  });
}

function saveMatches(state: SqliteConnection, matches: LogBatch["matches"]): void {
  const insert = state.prepare(
    "INSERT INTO log_matches (entry_id, request_id, agent) VALUES (?, ?, ?) ON CONFLICT (entry_id) DO NOTHING",
  );
  for (const { entryId, requestId, agent } of matches) insert.run([entryId, requestId, agent]);
  deleteRows(state, requestsById(matches.map(({ entryId }) => entryId)));
}

const readLinkedSessions = (state: SqliteConnection) =>
  state
    .prepare<{ id: string }>("SELECT DISTINCT session_id AS id FROM log_pull_requests")
    .all([])
    .map(({ id }) => id);

/** Gives the calls of one session their pull requests. A call whose caller becomes known later gets it at the next import. */
function linkSession(state: SqliteConnection, session: string): number {
  const links = state
    .prepare<Omit<PullRequestLink, "session">>(
      `SELECT linked_at AS at, pull_request AS pullRequest FROM log_pull_requests WHERE session_id = ? ORDER BY linked_at`,
    )
    .all([session]);
  const calls = state
    .prepare<LinkableCall>(
      `SELECT request_id AS requestId, requested_at AS at, git_branch AS branch, git_remote AS remote,
         pull_request AS pullRequest
       FROM requests WHERE session_id = ? ORDER BY requested_at, seq`,
    )
    .all([session]);
  const found = [...linkPullRequests(calls, links)];
  for (let from = 0; from < found.length; from += BATCH) {
    const batch = found.slice(from, from + BATCH);
    state.transaction(() => setPullRequests(state, batch));
  }
  return found.length;
}

function setPullRequests(state: SqliteConnection, found: readonly (readonly [string, number])[]): void {
  const update = state.prepare(
    "UPDATE requests SET pull_request = ? WHERE request_id = ? AND pull_request IS NULL",
  );
  changeRequests(state, requestsById(found.map(([id]) => id)), () => {
    for (const [id, pullRequest] of found) update.run([pullRequest, id]);
  });
}

function readFreeWireCalls(state: SqliteConnection, from: Millis, to: Millis): WireCall[] {
  return state
    .prepare<RequestRow>(
      `SELECT * FROM requests WHERE requested_at >= ? AND requested_at < ? AND record_source IS NOT 'logs'
         AND NOT EXISTS (SELECT 1 FROM log_matches WHERE log_matches.request_id = requests.request_id)`,
    )
    .all([from, to])
    .map(toStoredRequest)
    .map(({ requestId, requestedAt, latencyMs, model, tokens, providerResponseId, sessionId }) => ({
      requestId,
      completedAt: requestedAt + latencyMs,
      model,
      tokens,
      responseId: providerResponseId,
      session: sessionId,
    }));
}

const ofAgent = (agent: string | null) => ({
  sql: agent === null ? FROM_LOGS : `${FROM_LOGS} AND client = ?`,
  values: agent === null ? [] : [agent],
});

function removeSome(state: SqliteConnection, agent: string | null): number {
  const { sql, values } = ofAgent(agent);
  return deleteRows(state, {
    sql: `seq IN (SELECT seq FROM requests WHERE ${sql} LIMIT ${BATCH})`,
    values,
  });
}

function forgetLogs(state: SqliteConnection, agent: string | null): void {
  const condition = agent === null ? "" : " WHERE agent = ?";
  for (const table of LOG_TABLES)
    state.prepare(`DELETE FROM ${table}${condition}`).run(agent === null ? [] : [agent]);
}
