import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import type { FoundSession, SessionStore, SessionSummary } from "./port/sessions.ts";
import { sumRows, toReportRows } from "./report-rows.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import { SERIES_COLUMNS } from "./rollup-definition.ts";
import { findSessions } from "./session-list.ts";
import { type SumRow, sumsOfRequests } from "./usage-sums.ts";

/** How many ids an ambiguous beginning lists. */
const MAX_AMBIGUOUS = 5;

/** Implements `SessionStore`. The sums of a session are read from its requests, which `requests_session` finds. */
export function createSessionStore({ reads }: Pick<StoreConnections, "reads">): SessionStore {
  return {
    list: async (query, turn) => {
      const { ids, unknownCosts } = await findSessions(reads, query, turn);
      const sessions: SessionSummary[] = [];
      for (const id of ids) {
        const summary = summarise(reads, id);
        if (summary !== null) sessions.push(summary);
        await turn();
      }
      return { sessions, unknownCosts };
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

interface LatestRow {
  readonly project: string;
  readonly client: string | null;
  readonly client_version: string | null;
  readonly git_branch: string | null;
  readonly session_source: SessionSummary["source"];
}

/** What the requests of a session with one billing mode and cost source add up to. */
interface SessionSums extends SumRow {
  readonly first: Millis;
  readonly last: Millis;
  /** The ids of the sub-agents, as a JSON array. */
  readonly agents: string;
  readonly from_logs: number;
}

const SUM_SESSION = `SELECT ${SERIES_COLUMNS.billing_mode} AS billing_mode, cost_source, ${sumsOfRequests},
    min(requested_at) AS first, max(requested_at + latency_ms) AS last,
    json_group_array(DISTINCT agent_id) FILTER (WHERE agent_id IS NOT NULL) AS agents,
    count(CASE WHEN record_source = 'logs' THEN 1 END) AS from_logs
  FROM requests WHERE session_id = ? GROUP BY 1, 2`;

function summarise(connection: SqliteConnection, sessionId: string): SessionSummary | null {
  const latest = connection
    .prepare<LatestRow>(
      `SELECT project, client, client_version, git_branch, session_source FROM requests
       WHERE session_id = ? ORDER BY requested_at DESC, seq DESC LIMIT 1`,
    )
    .get([sessionId]);
  const sums = connection.prepare<SessionSums>(SUM_SESSION).all([sessionId]);
  if (latest === null || sums.length === 0) return null;
  return {
    sessionId,
    source: latest.session_source,
    project: latest.project,
    client: latest.client,
    clientVersion: latest.client_version,
    branch: latest.git_branch,
    startedAt: Math.min(...sums.map(({ first }) => first)),
    endedAt: Math.max(...sums.map(({ last }) => last)),
    agents: new Set(sums.flatMap(({ agents }) => JSON.parse(agents) as string[])).size,
    fromLogs: sums.reduce((sum, { from_logs }) => sum + from_logs, 0),
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
