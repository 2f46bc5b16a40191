import { type RawBuilder, type Selectable, sql, type Transaction } from "kysely";
import type { RequestQuery } from "../../../core/pricing/view/request-query.ts";
import { isUuid } from "../../../core/values/uuid.ts";
import type { CursorPosition } from "../../../core/wire/cursor.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { RequestSort } from "../../../core/wire/queries.ts";
import type { CloudDatabase } from "../open-database.ts";
import type { CloudSchema, RequestRow } from "../schema.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { inReadScope } from "./read-scope.ts";
import { matchRequests } from "./usage-sources.ts";
import type { Span } from "./usage-spans.ts";

/** A stored request with its machine's name: the one that people gave it, else the host name. */
export type TraceRow = Selectable<RequestRow> & { readonly hostname: string | null };

/** Selects a workspace's requests, with the names of their machines. */
export function selectTraces(trx: Transaction<CloudSchema>, workspaceId: string) {
  return trx
    .selectFrom("requests as r")
    .leftJoin("machines as m", (join) =>
      join.onRef("m.workspace_id", "=", "r.workspace_id").onRef("m.machine_id", "=", "r.machine_id"),
    )
    .selectAll("r")
    .select(sql<string | null>`coalesce(m.label, m.hostname)`.as("hostname"))
    .where("r.workspace_id", "=", workspaceId);
}

const TOKENS = [
  "prompt_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "completion_tokens",
  "thinking_tokens",
];

/** SQL over `requests` for what a list is sorted by; -1 if it is unknown. */
const SORT_KEYS: Readonly<Record<Exclude<RequestSort, "time">, string>> = {
  cost: "coalesce(cost_pico_usd, -1)::numeric",
  tokens: `(case when coalesce(${TOKENS.join(", ")}) is null then -1
    else ${TOKENS.map((column) => `coalesce(${column}, 0)`).join(" + ")} end)::numeric`,
  ms: "coalesce(latency_ms, -1)::numeric",
};

/** SQL over `requests` for the text that is searched in. */
const SEARCHED = "lower(concat_ws(chr(10), project, git_branch, model, provider, error_class))";

/** The longest period of a list that is not sorted by time: all of its requests are read. Decision: a month, as in analytics. */
export const MAX_SORTED_PERIOD_MS = 32 * 86_400_000;

/** The id of a position in a list that is not sorted by time: the value that it is sorted by, and the request's id. */
const SORTED_ID = /^(-?\d{1,40}):(.+)$/;

/** Whether a cursor of a list may have this id. */
export const isListId = (id: string, sort: RequestSort): boolean =>
  isUuid(sort === "time" ? id : (SORTED_ID.exec(id)?.[2] ?? ""));

/**
 * Lists the requests of a period: by time, newest first, or by cost, tokens or duration, highest first and unknown last. Requests of
 * the same time are sorted by descending id.
 */
export async function listTraces(
  db: CloudDatabase,
  workspaceId: string,
  options: Span & PageRequest & { readonly query: RequestQuery },
): Promise<Page<TraceRow>> {
  const { limit, query } = options;
  const { rows } = await inReadScope(db, { workspaceId }, (trx) =>
    selectPage(workspaceId, options).execute(trx),
  );
  return toPage(rows, limit, ({ requested_at, request_id, sort_key }) => ({
    at: requested_at,
    id: query.sort === "time" ? request_id : `${sort_key}:${request_id}`,
  }));
}

/** A row of a list, with the value that it is sorted by. */
type SortedRow = TraceRow & { readonly sort_key: string | null };

function selectPage(
  workspaceId: string,
  { from, to, after, limit, query }: Parameters<typeof listTraces>[2],
): RawBuilder<SortedRow> {
  const { filters, text, sort } = query;
  const key = sort === "time" ? null : SORT_KEYS[sort];
  const order = (alias: string, keyed: string | null) =>
    sql.raw(`${keyed === null ? "" : `${keyed} desc, `}${alias}requested_at desc, ${alias}request_id desc`);
  const found = text === null ? sql`` : sql` and position(lower(${text}::text) in ${sql.raw(SEARCHED)}) > 0`;
  return sql<SortedRow>`
    select r.*, coalesce(m.label, m.hostname) as hostname from (
      select *, ${sql.raw(key ?? "null::text")} as sort_key from requests
      where workspace_id = ${workspaceId}::uuid
        and requested_at >= ${formatInstant(from)}::timestamptz and requested_at < ${formatInstant(to)}::timestamptz
        ${matchRequests(filters)}${found}${after === null ? sql`` : isAfter(after, key)}
      order by ${order("", key)} limit ${limit + 1}
    ) r
    left join machines m on m.workspace_id = ${workspaceId}::uuid and m.machine_id = r.machine_id
    order by ${order("r.", key === null ? null : "r.sort_key")}`;
}

/** SQL over `requests`, preceded by `and`, for the condition that a request is listed after a position. */
function isAfter({ at, id }: CursorPosition, key: string | null): RawBuilder<unknown> {
  const [, value = "0", requestId = id] = key === null ? [] : (SORTED_ID.exec(id) ?? []);
  const position = sql`${formatInstant(at)}::timestamptz, ${requestId}::uuid`;
  return key === null
    ? sql` and (requested_at, request_id) < (${position})`
    : sql` and (${sql.raw(key)}, requested_at, request_id) < (${value}::numeric, ${position})`;
}

/** Finds a request; null if the workspace has no request with this id. */
export async function findTrace(
  db: CloudDatabase,
  workspaceId: string,
  requestId: string,
): Promise<TraceRow | null> {
  const row = await inReadScope(db, { workspaceId }, (trx) =>
    selectTraces(trx, workspaceId).where("r.request_id", "=", requestId).executeTakeFirst(),
  );
  return row ?? null;
}

/** Whether a workspace ever received a request. */
export async function hasRequests(db: CloudDatabase, workspaceId: string): Promise<boolean> {
  const row = await inReadScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("usage_daily")
      .select("day")
      .where("workspace_id", "=", workspaceId)
      .limit(1)
      .executeTakeFirst(),
  );
  return row !== undefined;
}
