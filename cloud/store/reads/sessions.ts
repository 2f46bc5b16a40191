import { sql, type Transaction } from "kysely";
import { billingModesSql, COST_PARTS } from "../../../core/pricing/cost-split.ts";
import type { SessionListQuery } from "../../../core/pricing/view/session-query.ts";
import { EFFECTIVE_BILLING_SQL } from "../../../core/values/billing.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { SessionSort } from "../../../core/wire/queries.ts";
import type { CloudDatabase } from "../open-database.ts";
import { FAILED, UNPRICED } from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";
import { inReadScope } from "./read-scope.ts";
import { selectTraces, type TraceRow } from "./traces.ts";
import { matchRequests } from "./usage-sources.ts";
import type { Span } from "./usage-spans.ts";

/** A session with the sums of its requests. Sums are texts, since they may exceed a double's integers. */
export interface SessionRow {
  readonly session_id: string;
  /** What its latest request states. */
  readonly session_source: "stated" | "inferred" | null;
  readonly project: string | null;
  readonly git_branch: string | null;
  readonly client_version: string | null;
  readonly user_id: string;
  readonly machine_id: string | null;
  readonly hostname: string | null;
  readonly started_at: Millis;
  readonly ended_at: Millis;
  /** The number of sub-agents. */
  readonly agents: string;
  readonly requests: string;
  readonly failed_requests: string;
  readonly blocked_requests: string;
  readonly unpriced_requests: string;
  readonly incomplete_requests: string;
  readonly input_tokens: string | null;
  readonly cache_read_tokens: string | null;
  readonly spent_pico_usd: string;
  readonly plan_usage_pico_usd: string;
  readonly unknown_billing_pico_usd: string;
}

const SPENT_MODES = billingModesSql("spentPicoUsd");

/** SQL for what each part of the cost of requests adds up to; null for one without requests. */
const PARTS = COST_PARTS.map(
  ({ part }) => `sum(cost_pico_usd) filter (where ${EFFECTIVE_BILLING_SQL} in (${billingModesSql(part)}))`,
).join(", ");

/** What the requests of a session in the period add up to, the highest first. */
const ORDERS: Readonly<Record<SessionSort, string>> = {
  latest: "max(requested_at) desc",
  cost: `sum(cost_pico_usd) filter (where ${EFFECTIVE_BILLING_SQL} in (${SPENT_MODES})) desc nulls last,
    sum(cost_pico_usd) desc nulls last`,
  calls: "count(*) desc",
  length: "max(requested_at + coalesce(latency_ms, 0) * interval '1 millisecond') - min(requested_at) desc",
};

/** Which sessions are listed: those with a matching request in the period. */
export interface SessionList extends Span {
  readonly query: SessionListQuery;
  /** The earliest time that may be read. A session's earlier requests are not in its sums. */
  readonly floor: Millis;
  readonly limit: number;
}

/** The requests that are searched first. They name a page of sessions in most workspaces, and are read in a few milliseconds. */
const NEWEST_REQUESTS = 20_000;

/** The sessions of a list, at most one more than the limit, and how many its minimum cost leaves out although what they cost is not known. */
export interface ListedSessions {
  readonly sessions: readonly SessionRow[];
  /** Without a minimum cost: 0. */
  readonly unknownCosts: number;
}

/** Lists sessions in an order. */
export async function listSessions(
  db: CloudDatabase,
  workspaceId: string,
  list: SessionList,
): Promise<ListedSessions> {
  return await inReadScope(db, { workspaceId }, async (trx) => {
    const { ids, unknownCosts } = await findIds(trx, workspaceId, list);
    const rows = await sumSessions(trx, workspaceId, ids, list.floor);
    const byId = new Map(rows.map((row) => [row.session_id, row]));
    return { sessions: ids.flatMap((id) => byId.get(id) ?? []), unknownCosts };
  });
}

/** The ids of a list. */
interface FoundIds extends Pick<ListedSessions, "unknownCosts"> {
  readonly ids: readonly string[];
  /** How many requests were read. */
  readonly requests: number;
}

async function findIds(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  list: SessionList,
): Promise<FoundIds> {
  // The newest requests do not tell what a session cost in the period.
  if (list.query.sort === "latest" && list.query.minPicoUsd === null) {
    const newest = await selectIds(trx, workspaceId, list, NEWEST_REQUESTS);
    if (newest.ids.length > list.limit || newest.requests < NEWEST_REQUESTS) return newest;
  }
  return await selectIds(trx, workspaceId, list, null);
}

/** Finds the sessions among the newest requests of a list, or among all. Those of unknown cost come last, if any fit. */
async function selectIds(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { from, to, query: { filters, minPicoUsd, sort }, limit }: SessionList,
  newest: number | null,
): Promise<FoundIds> {
  const isListed =
    minPicoUsd === null
      ? sql`true`
      : sql`coalesce(greatest(${sql.raw(PARTS)}), 0) >= ${minPicoUsd.toString()}::numeric`;
  const { rows } = await sql<{ session_id: string; is_listed: boolean; requests: string; unknown: string }>`
    select session_id, ${isListed} as is_listed, sum(count(*)) over () as requests,
      sum((not ${isListed})::integer) over () as unknown
    from (
      select session_id, requested_at, latency_ms, cost_pico_usd, billing_mode, provider, ${sql.raw(UNPRICED)} as is_unpriced
      from requests
      where workspace_id = ${workspaceId}::uuid and session_id is not null
        and requested_at >= ${from}::timestamptz and requested_at < ${to}::timestamptz ${matchRequests(filters)}
      ${newest === null ? sql`` : sql`order by requested_at desc limit ${newest}::bigint`}
    ) as read
    group by session_id
    ${minPicoUsd === null ? sql`` : sql`having ${isListed} or bool_or(is_unpriced)`}
    order by is_listed desc, ${sql.raw(ORDERS[sort])}, max(requested_at) desc, session_id limit ${limit + 1}::bigint`.execute(
    trx,
  );
  return {
    ids: rows.flatMap(({ session_id, is_listed }) => (is_listed ? [session_id] : [])),
    requests: Number(rows[0]?.requests ?? 0),
    unknownCosts: Number(rows[0]?.unknown ?? 0),
  };
}

const billed = (modes: string) =>
  `coalesce(sum(cost_pico_usd) filter (where ${EFFECTIVE_BILLING_SQL} in (${modes})), 0)::text`;

const count = (condition: string) => `count(*) filter (where ${condition})`;

const SUMS = `min(requested_at) as started_at,
  max(requested_at + coalesce(latency_ms, 0) * interval '1 millisecond') as ended_at,
  count(distinct agent_id) as agents, count(*) as requests,
  ${count(`${FAILED} is true`)} as failed_requests, ${count("blocked_by is not null")} as blocked_requests, ${count(UNPRICED)} as unpriced_requests,
  ${count("tokens_complete is false")} as incomplete_requests,
  case when count(prompt_tokens) + count(cache_read_tokens) + count(cache_write_tokens) > 0 then
    (coalesce(sum(prompt_tokens), 0) + coalesce(sum(cache_read_tokens), 0) + coalesce(sum(cache_write_tokens), 0))::text
  end as input_tokens,
  sum(cache_read_tokens)::text as cache_read_tokens,
  ${billed(SPENT_MODES)} as spent_pico_usd, ${billed("'plan'")} as plan_usage_pico_usd,
  ${billed("'unknown'")} as unknown_billing_pico_usd`;

async function sumSessions(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  ids: readonly string[],
  floor: Millis,
): Promise<readonly SessionRow[]> {
  if (ids.length === 0) return [];
  const ofSessions = sql`workspace_id = ${workspaceId}::uuid and requested_at >= ${floor}::timestamptz
    and session_id in (${sql.join(ids.map((id) => sql`${id}::text`))})`;
  const { rows } = await sql<SessionRow>`
    with latest as (
      select distinct on (session_id) session_id, session_source, project, git_branch, client_version, user_id, machine_id
      from requests where ${ofSessions} order by session_id, requested_at desc, request_id desc
    ),
    sums as (select session_id, ${sql.raw(SUMS)} from requests where ${ofSessions} group by session_id)
    select latest.*, sums.*, coalesce(machines.label, machines.hostname) as hostname
    from latest join sums on sums.session_id = latest.session_id
      left join machines on machines.workspace_id = ${workspaceId}::uuid and machines.machine_id = latest.machine_id`.execute(
    trx,
  );
  return rows;
}

/** A session with its requests, the oldest first. */
export interface FoundSession {
  readonly session: SessionRow;
  readonly requests: readonly TraceRow[];
}

/** Finds a session with at most `limit` of its requests; null if it has none since the floor. */
export async function findSession(
  db: CloudDatabase,
  workspaceId: string,
  sessionId: string,
  { floor, limit }: Pick<SessionList, "floor" | "limit">,
): Promise<FoundSession | null> {
  return await inReadScope(db, { workspaceId }, async (trx) => {
    const [session] = await sumSessions(trx, workspaceId, [sessionId], floor);
    if (session === undefined) return null;
    const requests = await selectTraces(trx, workspaceId)
      .where("r.session_id", "=", sessionId)
      .where("r.requested_at", ">=", floor)
      .orderBy("r.requested_at")
      .orderBy("r.request_id")
      .limit(limit)
      .execute();
    return { session, requests };
  });
}
