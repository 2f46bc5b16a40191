import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import { addToSplit, type CostSplit, NO_COST, sumOfSplit } from "../../core/pricing/cost-split.ts";
import { hasCost } from "../../core/pricing/view/session-query.ts";
import type { BillingMode } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { SessionSort } from "../../core/wire/queries.ts";
import type { SessionList, SessionQuery } from "./port/sessions.ts";
import type { Turn } from "./port/values.ts";
import { cutTimes, findTimes, spanOf } from "./request-times.ts";
import { COST_HALF, REQUEST_COLUMNS, SERIES_COLUMNS } from "./rollup-definition.ts";
import { toCondition } from "./usage-dimensions.ts";
import { type ColumnCondition, columnOfRequests, matches, type Span } from "./usage-sums.ts";

/** With at most this number of sessions, each is looked at; with more, the requests are read from the latest on. */
const MAX_VISITED_SESSIONS = 2_000;

/** How many requests one slice reads: 2 to 3 ms. */
const SLICE_ROWS = 4_000;

/** The first slice of the latest sessions, which often has a page of them. Each next one has twice as many, up to `SLICE_ROWS`. */
const FIRST_ROWS = 500;

/** The ids of the sessions of a query, in its order, and how many its minimum cost leaves out although what they cost is not known. */
interface FoundIds extends Pick<SessionList, "unknownCosts"> {
  readonly ids: readonly string[];
}

/** Finds the sessions of a query. */
export async function findSessions(
  connection: SqliteConnection,
  query: SessionQuery,
  turn: Turn,
): Promise<FoundIds> {
  const { sort = "latest", minPicoUsd = null } = query;
  if (sort !== "latest" || minPicoUsd !== null) return await sortBySums(connection, query, turn);
  return { ids: await findLatest(connection, query, turn), unknownCosts: 0 };
}

async function findLatest(
  connection: SqliteConnection,
  query: SessionQuery,
  turn: Turn,
): Promise<readonly string[]> {
  if ((query.filters ?? []).length > 0 || hadMany.has(connection))
    return await readLatestIds(connection, query, turn);
  const all = listSessionIds(connection, MAX_VISITED_SESSIONS + 1);
  if (all.length <= MAX_VISITED_SESSIONS) return await sortByLatest(connection, all, query, turn);
  hadMany.add(connection);
  return await readLatestIds(connection, query, turn);
}

/**
 * The connections whose database had more sessions than are visited, which takes 6 ms to find out. Only a deletion of old requests makes
 * them fewer. Until the daemon starts again, the list is then read from the latest request on.
 */
const hadMany = new WeakSet<SqliteConnection>();

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
  const { from, to } = spanOf(query);
  // The index answers it: it has the times of a session in order.
  const latest = connection.prepare<{ at: Millis | null }>(
    "SELECT max(requested_at) AS at FROM requests WHERE session_id = ? AND requested_at >= ? AND requested_at < ?",
  );
  const found: { id: string; at: Millis }[] = [];
  for (const [index, id] of ids.entries()) {
    const at = latest.get([id, from, to])?.at ?? null;
    if (at !== null) found.push({ id, at });
    if (index % 200 === 199) await turn();
  }
  return found
    .sort((one, other) => other.at - one.at)
    .slice(0, query.limit)
    .map(({ id }) => id);
}

/** Reads requests from the latest on until they name enough sessions. Reads no costs. */
async function readLatestIds(
  connection: SqliteConnection,
  query: SessionQuery,
  turn: Turn,
): Promise<readonly string[]> {
  const ids = new Set<string>();
  const columns = "max(requested_at) AS at, max(seq) AS seq";
  for await (const rows of readSlices<{ id: string }>(
    connection,
    query,
    { columns, order: "at DESC, seq DESC" },
    turn,
  )) {
    for (const { id } of rows) ids.add(id);
    if (ids.size >= query.limit) break;
  }
  return [...ids].slice(0, query.limit);
}

/** What the matching requests of a session in the period add up to. */
interface SessionSums {
  readonly id: string;
  calls: number;
  first: Millis;
  /** When the latest request began. */
  latest: Millis;
  /** When the last one ended. */
  last: Millis;
  cost: CostSplit;
  /** The calls without a known cost. */
  unpriced: number;
}

const compare = (one: bigint, other: bigint): number => (one < other ? -1 : one > other ? 1 : 0);

/** The same order as that of the page. */
const BY_SUMS: Readonly<Record<SessionSort, (one: SessionSums, other: SessionSums) => number>> = {
  latest: (one, other) => other.latest - one.latest,
  cost: (one, other) =>
    compare(other.cost.spentPicoUsd, one.cost.spentPicoUsd) ||
    compare(sumOfSplit(other.cost), sumOfSplit(one.cost)),
  calls: (one, other) => other.calls - one.calls,
  length: (one, other) => other.last - other.first - (one.last - one.first),
};

/** What requests of a session with one billing mode add up to in a slice. */
interface SumsRow {
  readonly id: string;
  readonly calls: number;
  readonly first: Millis;
  readonly latest: Millis;
  readonly last: Millis;
  readonly mode?: BillingMode;
  readonly cost_high?: number;
  readonly cost_low?: number;
  readonly unpriced?: number;
}

const TIMES = `count(*) AS calls, min(requested_at) AS first, max(requested_at) AS latest,
  max(requested_at + latency_ms) AS last`;

const COSTS = `${SERIES_COLUMNS.billing_mode} AS mode, coalesce(sum(cost_pico_usd / ${COST_HALF}), 0) AS cost_high,
  coalesce(sum(cost_pico_usd % ${COST_HALF}), 0) AS cost_low,
  count(*) FILTER (WHERE ${SERIES_COLUMNS.unpriced}) AS unpriced`;

async function sortBySums(connection: SqliteConnection, query: SessionQuery, turn: Turn): Promise<FoundIds> {
  const { sort = "latest", minPicoUsd = null } = query;
  const all = await sumSessions(connection, query, sort === "cost" || minPicoUsd !== null, turn);
  const { listed = [], leftOut = [] } = Object.groupBy(all, ({ cost }) =>
    minPicoUsd === null || hasCost(cost, minPicoUsd) ? "listed" : "leftOut",
  );
  const ids = listed
    .sort((one, other) => BY_SUMS[sort](one, other) || BY_SUMS.latest(one, other))
    .slice(0, query.limit)
    .map(({ id }) => id);
  return { ids, unknownCosts: leftOut.filter(({ unpriced }) => unpriced > 0).length };
}

/** Sums up all matching requests of the period by session. Reads their costs only if asked to. No rollup has sessions. */
async function sumSessions(
  connection: SqliteConnection,
  query: SessionQuery,
  hasCosts: boolean,
  turn: Turn,
): Promise<readonly SessionSums[]> {
  const select = hasCosts ? { columns: `${TIMES}, ${COSTS}`, group: "mode" } : { columns: TIMES };
  const sessions = new Map<string, SessionSums>();
  for await (const rows of readSlices<SumsRow>(connection, query, select, turn))
    for (const row of rows) addRow(sessions, row);
  return [...sessions.values()];
}

function addRow(sessions: Map<string, SessionSums>, row: SumsRow): void {
  const { id, calls, first, latest, last, mode, cost_high = 0, cost_low = 0, unpriced = 0 } = row;
  const known = sessions.get(id);
  const sums = known ?? { id, calls: 0, first, latest, last, cost: NO_COST, unpriced: 0 };
  if (known === undefined) sessions.set(id, sums);
  sums.calls += calls;
  sums.unpriced += unpriced;
  sums.first = Math.min(sums.first, first);
  sums.latest = Math.max(sums.latest, latest);
  sums.last = Math.max(sums.last, last);
  if (mode !== undefined)
    sums.cost = addToSplit(sums.cost, mode, BigInt(cost_high) * COST_HALF + BigInt(cost_low));
}

/** What is selected of the requests of each session in a slice. */
interface SliceSelect {
  readonly columns: string;
  /** A column of `columns` that separates rows besides the session. */
  readonly group?: string;
  readonly order?: string;
}

/** Reads the matching requests of sessions by session, in slices, the latest first. */
async function* readSlices<Row>(
  connection: SqliteConnection,
  query: SessionQuery,
  { columns, group, order }: SliceSelect,
  turn: Turn,
): AsyncGenerator<readonly Row[]> {
  const where = (query.filters ?? []).map(toCondition);
  const { sql, values } = matches({ filters: {}, where }, columnOfRequests);
  const isIndexed = where.some((each) => each.isIndexed);
  // `+` keeps SQLite from using the index by time instead of that of a filter.
  const time = `${isIndexed ? "+" : ""}requested_at`;
  const slice = connection.prepare<Row>(
    `SELECT session_id AS id, ${columns} FROM requests
     WHERE ${time} >= ? AND ${time} < ? AND session_id IS NOT NULL${sql}
     GROUP BY ${["id", ...(group === undefined ? [] : [group])].join(", ")}${order === undefined ? "" : ` ORDER BY ${order}`}`,
  );
  const slices = isIndexed ? [spanOf(query)] : findSlices(connection, query, where);
  for (const { from, to } of slices) {
    yield slice.all([from, to, ...values]);
    await turn();
  }
}

function* findSlices(
  connection: SqliteConnection,
  query: SessionQuery,
  where: readonly ColumnCondition[],
): Generator<Span> {
  const summed = where.filter(({ columns }) => columns.every((column) => !(column in REQUEST_COLUMNS)));
  const times =
    summed.length === 0
      ? [spanOf(query)]
      : findTimes(connection, spanOf(query), { filters: {}, where: summed });
  let rows = FIRST_ROWS;
  for (const time of times)
    for (const slice of cutTimes(connection, time, () => rows)) {
      yield slice;
      rows = Math.min(rows * 2, SLICE_ROWS);
    }
}
