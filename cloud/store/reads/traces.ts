import { type Selectable, sql, type Transaction } from "kysely";
import { EFFECTIVE_BILLING_SQL } from "../../../core/values/billing.ts";
import type { TracesQuery } from "../../../core/wire/queries.ts";
import type { CloudDatabase } from "../open-database.ts";
import { FAILED } from "../rollups.ts";
import type { CloudSchema, RequestRow } from "../schema.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { inReadScope } from "./read-scope.ts";
import { UNPRICED } from "./usage-data.ts";
import type { Span } from "./usage-spans.ts";

/** A stored request with its machine's name: the one that people gave it, else the host name. */
export type TraceRow = Selectable<RequestRow> & { readonly hostname: string | null };

/** The filters of a list of requests. An empty project selects requests without one. */
export type TraceFilter = Omit<TracesQuery, "from" | "to" | "cursor" | "limit">;

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

/** Lists the requests of a period, newest first, then by descending id. */
export async function listTraces(
  db: CloudDatabase,
  workspaceId: string,
  options: Span & PageRequest & { readonly filter: TraceFilter },
): Promise<Page<TraceRow>> {
  const { from, to, after, limit, filter } = options;
  const rows = await inReadScope(db, { workspaceId }, async (trx) => {
    let query = selectTraces(trx, workspaceId)
      .where("r.requested_at", ">=", from)
      .where("r.requested_at", "<", to);
    if (after !== null) {
      query = query.where(
        sql<boolean>`(r.requested_at, r.request_id) < (${after.at}::timestamptz, ${after.id}::uuid)`,
      );
    }
    const { project, model, provider, status, billing, session, machine, user } = filter;
    if (project !== null) query = query.where(sql<boolean>`coalesce(r.project, '') = ${project}`);
    if (model !== null) query = query.where("r.model", "=", model);
    if (provider !== null) query = query.where("r.provider", "=", provider);
    if (user !== null) query = query.where("r.user_id", "=", user);
    if (machine !== null) query = query.where("r.machine_id", "=", machine);
    if (session !== null) query = query.where("r.session_id", "=", session);
    if (billing !== null) query = query.where(sql<boolean>`${sql.raw(EFFECTIVE_BILLING_SQL)} = ${billing}`);
    if (status === "ok") query = query.where(sql<boolean>`${sql.raw(FAILED)} is not true`);
    else if (status === "failed") query = query.where(sql<boolean>`${sql.raw(FAILED)} is true`);
    else if (status === "unpriced") query = query.where(sql<boolean>`${sql.raw(UNPRICED)}`);
    else if (status === "incomplete") query = query.where("r.tokens_complete", "is", false);
    else if (status !== null) query = query.where("r.http_status", "=", Number(status));
    return await query
      .orderBy("r.requested_at", "desc")
      .orderBy("r.request_id", "desc")
      .limit(limit + 1)
      .execute();
  });
  return toPage(rows, limit, (row) => ({ at: row.requested_at, id: row.request_id }));
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
