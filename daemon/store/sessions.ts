import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import { billingModesSql } from "../../core/pricing/cost-split.ts";
import type { Millis } from "../../core/values/time.ts";
import type { SessionSort } from "../../core/wire/queries.ts";
import type { StoreConnections } from "./connections.ts";
import type { FoundSession, SessionQuery, SessionStore, SessionSummary } from "./port/sessions.ts";
import type { Turn } from "./port/values.ts";
import { sumRows, toReportRows } from "./report-rows.ts";
import { lastInstant, type RequestRow, toStoredRequest } from "./request-rows.ts";
import { SERIES_COLUMNS } from "./rollup-definition.ts";
import { type SumRow, sumsOfRequests } from "./usage-sums.ts";

/** With at most this number of sessions, each is looked at; with more, the requests are read from the latest on. */
const MAX_VISITED_SESSIONS = 2_000;

/** How many requests one slice reads: 3 ms. */
const SLICE_ROWS = 1_000;

/** How many ids an ambiguous beginning lists. */
const MAX_AMBIGUOUS = 5;

/** Implements `SessionStore`. The sums of a session are read from its requests, which `requests_session` finds. */
export function createSessionStore({ reads }: Pick<StoreConnections, "reads">): SessionStore {
  return {
    list: async (query, turn) => {
      const summaries: SessionSummary[] = [];
      for (const id of await findSessions(reads, query, turn)) {
        const summary = summarise(reads, id);
        if (summary !== null) summaries.push(summary);
        await turn();
      }
      return summaries;
    },
    find: (text) => findSession(reads, text),
    summarise: (sessionId) => summarise(reads, sessionId),
    requests: (sessionId, limit) =>
      reads
        .prepare<RequestRow>("SELECT * FROM requests WHERE session_id = ? ORDER BY requested_at, seq LIMIT ?")
        .all([sessionId, limit])
        .map(toStoredRequest),
  };
}

/** The condition of a query on requests, with its values. */
function conditionOf({ project }: SessionQuery): { readonly sql: string; readonly values: SqliteValue[] } {
  return project === undefined ? { sql: "", values: [] } : { sql: " AND project = ?", values: [project] };
}

async function findSessions(
  connection: SqliteConnection,
  query: SessionQuery,
  turn: Turn,
): Promise<readonly string[]> {
  const { sort = "latest" } = query;
  if (sort !== "latest") return await sortBySums(connection, { ...query, sort }, turn);
  const all = listSessionIds(connection, MAX_VISITED_SESSIONS + 1);
  return all.length > MAX_VISITED_SESSIONS
    ? await readLatestIds(connection, query, turn)
    : await sortByLatest(connection, all, query, turn);
}

/** Lists ids by jumping from each to the next in the index, whatever the number of their requests. */
function listSessionIds(connection: SqliteConnection, limit: number): string[] {
  return connection
    .prepare<{ id: string }>(
      `WITH RECURSIVE ids(id) AS (
         SELECT min(session_id) FROM requests
         UNION ALL SELECT (SELECT min(session_id) FROM requests WHERE session_id > ids.id) FROM ids WHERE id IS NOT NULL
         LIMIT ?
       ) SELECT id FROM ids WHERE id IS NOT NULL`,
    )
    .all([limit])
    .map(({ id }) => id);
}

async function sortByLatest(
  connection: SqliteConnection,
  ids: readonly string[],
  query: SessionQuery,
  turn: Turn,
): Promise<readonly string[]> {
  const { sql, values } = conditionOf(query);
  const latest = connection.prepare<{ at: Millis }>(
    `SELECT requested_at AS at FROM requests
     WHERE session_id = ? AND requested_at >= ? AND requested_at < ?${sql} ORDER BY requested_at DESC LIMIT 1`,
  );
  const found: { id: string; at: Millis }[] = [];
  for (const [index, id] of ids.entries()) {
    const row = latest.get([id, query.from ?? 0, query.to ?? lastInstant, ...values]);
    if (row !== null) found.push({ id, at: row.at });
    if (index % 200 === 199) await turn();
  }
  return found
    .sort((one, other) => other.at - one.at)
    .slice(0, query.limit)
    .map(({ id }) => id);
}

/** Reads requests from the latest on until they name enough sessions. */
async function readLatestIds(
  connection: SqliteConnection,
  query: SessionQuery,
  turn: Turn,
): Promise<readonly string[]> {
  const ids = new Set<string>();
  for await (const rows of readCalls(connection, query, turn)) {
    for (const { id } of rows) {
      ids.add(id);
      if (ids.size === query.limit) return [...ids];
    }
  }
  return [...ids];
}

/** What the requests of a session in the period add up to. Costs are doubles: they only decide the order. */
interface SessionSums {
  readonly id: string;
  spent: number;
  cost: number;
  calls: number;
  first: Millis;
  last: Millis;
}

/** The same order as that of the page. */
const BY_SUMS: Readonly<
  Record<Exclude<SessionSort, "latest">, (one: SessionSums, other: SessionSums) => number>
> = {
  cost: (one, other) => other.spent - one.spent || other.cost - one.cost,
  calls: (one, other) => other.calls - one.calls,
  length: (one, other) => other.last - other.first - (one.last - one.first),
};

/** Reads all requests of the period. No rollup has sessions. */
async function sortBySums(
  connection: SqliteConnection,
  query: SessionQuery & { readonly sort: keyof typeof BY_SUMS },
  turn: Turn,
): Promise<readonly string[]> {
  const sessions = new Map<string, SessionSums>();
  for await (const rows of readCalls(connection, query, turn)) {
    for (const { id, at, ended_at, cost, is_spent } of rows) {
      const sums = sessions.get(id) ?? { id, spent: 0, cost: 0, calls: 0, first: at, last: ended_at };
      sessions.set(id, sums);
      sums.spent += is_spent === 1 ? cost : 0;
      sums.cost += cost;
      sums.calls += 1;
      sums.first = at;
      sums.last = Math.max(sums.last, ended_at);
    }
  }
  return [...sessions.values()]
    .sort(BY_SUMS[query.sort])
    .slice(0, query.limit)
    .map(({ id }) => id);
}

interface CallRow {
  readonly id: string;
  readonly at: Millis;
  readonly seq: number;
  readonly ended_at: Millis;
  readonly cost: number;
  readonly is_spent: 0 | 1;
}

/** Reads the requests of sessions in slices, the latest first. */
async function* readCalls(
  connection: SqliteConnection,
  query: SessionQuery,
  turn: Turn,
): AsyncGenerator<readonly CallRow[]> {
  const { sql, values } = conditionOf(query);
  const slice = connection.prepare<CallRow>(
    `SELECT session_id AS id, requested_at AS at, seq, requested_at + latency_ms AS ended_at,
       CAST(coalesce(cost_pico_usd, 0) AS REAL) AS cost, ${SERIES_COLUMNS.billing_mode} IN (${billingModesSql("spentPicoUsd")}) AS is_spent
     FROM requests WHERE (requested_at, seq) < (?, ?) AND requested_at >= ? AND session_id IS NOT NULL${sql}
     ORDER BY requested_at DESC, seq DESC LIMIT ${SLICE_ROWS}`,
  );
  let before: readonly [at: Millis, seq: number] = [query.to ?? lastInstant, 0];
  for (;;) {
    const rows = slice.all([...before, query.from ?? 0, ...values]);
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < SLICE_ROWS) return;
    before = [last.at, last.seq];
    await turn();
  }
}

interface LatestRow {
  readonly project: string;
  readonly client: string | null;
  readonly client_version: string | null;
  readonly git_branch: string | null;
  readonly session_source: SessionSummary["source"];
}

function summarise(connection: SqliteConnection, sessionId: string): SessionSummary | null {
  const latest = connection
    .prepare<LatestRow>(
      `SELECT project, client, client_version, git_branch, session_source FROM requests
       WHERE session_id = ? ORDER BY requested_at DESC, seq DESC LIMIT 1`,
    )
    .get([sessionId]);
  const facts = connection
    .prepare<{ first: Millis; last: Millis; agents: number; from_logs: number }>(
      `SELECT min(requested_at) AS first, max(requested_at + latency_ms) AS last, count(DISTINCT agent_id) AS agents,
         count(CASE WHEN record_source = 'logs' THEN 1 END) AS from_logs
       FROM requests WHERE session_id = ?`,
    )
    .get([sessionId]);
  if (latest === null || facts === null) return null;
  const sums = connection
    .prepare<SumRow>(
      `SELECT ${SERIES_COLUMNS.billing_mode} AS billing_mode, cost_source, ${sumsOfRequests}
       FROM requests WHERE session_id = ? GROUP BY 1, 2`,
    )
    .all([sessionId]);
  return {
    sessionId,
    source: latest.session_source,
    project: latest.project,
    client: latest.client,
    clientVersion: latest.client_version,
    branch: latest.git_branch,
    startedAt: facts.first,
    endedAt: facts.last,
    agents: facts.agents,
    fromLogs: facts.from_logs,
    usage: sumRows(toReportRows(sums, undefined)),
  };
}

function findSession(connection: SqliteConnection, text: string): FoundSession {
  if (text === "last") {
    const row = connection
      .prepare<{ id: string }>(
        "SELECT session_id AS id FROM requests WHERE session_id IS NOT NULL ORDER BY requested_at DESC, seq DESC LIMIT 1",
      )
      .get([]);
    return row === null ? { kind: "not_found" } : { kind: "found", sessionId: row.id };
  }
  const next = connection.prepare<{ id: string | null }>(
    "SELECT min(session_id) AS id FROM requests WHERE session_id >= ?",
  );
  const sessionIds: string[] = [];
  // Ids have no control characters, so this one comes after an id and before every longer one.
  for (let from = text; text !== "" && sessionIds.length < MAX_AMBIGUOUS; ) {
    const id = next.get([from])?.id ?? null;
    if (id === null || !id.startsWith(text)) break;
    if (id === text) return { kind: "found", sessionId: id };
    sessionIds.push(id);
    from = `${id}\u0001`;
  }
  const [first] = sessionIds;
  if (first === undefined) return { kind: "not_found" };
  return sessionIds.length === 1 ? { kind: "found", sessionId: first } : { kind: "ambiguous", sessionIds };
}
