import { sql } from "kysely";
import type { CallGroup, NewestCalls } from "../../../core/metering/attribution/newest-calls.ts";
import type { SamePromptCall } from "../../../core/pricing/savings/same-prompt.ts";
import type { UsagePlan } from "../../../core/pricing/view/usage-plan.ts";
import type { Millis } from "../../../core/values/time.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { CloudDatabase } from "../open-database.ts";
import { inReadScope } from "./read-scope.ts";
import { matchRequests } from "./usage-sources.ts";

/**
 * Reads the newest `limit` calls of a plan's period by project, branch, session and how the project was found. Its filters apply to
 * these calls, so that a rare value does not make it read more of them. For a bound that it does not know, PostgreSQL would read the whole
 * table; with the limit, it reads the newest entries of an index.
 */
export async function readNewestCalls(
  db: CloudDatabase,
  workspaceId: string,
  { period, query }: UsagePlan,
  limit: number,
): Promise<NewestCalls> {
  const [from, to] = [formatInstant(period.from), formatInstant(period.to)];
  const { rows } = await inReadScope(db, { workspaceId }, (trx) =>
    sql<Omit<CallGroup, "requests"> & { requests: string; since: Millis | null }>`
    with newest as materialized (
      select * from requests
      where workspace_id = ${workspaceId}::uuid
        and requested_at >= ${from}::timestamptz and requested_at < ${to}::timestamptz
      order by requested_at desc, request_id desc limit ${limit + 1}::bigint
    ),
    oldest as (
      select requested_at from newest order by requested_at desc, request_id desc offset ${limit}::bigint
    ),
    groups as (
      select nullif(project, '') as project, nullif(git_branch, '') as branch, attribution_tier as tier,
        session_id::text as session, count(*) as requests
      from newest as requests
      where requested_at >= coalesce((select requested_at + interval '1 millisecond' from oldest), ${from}::timestamptz)
        ${matchRequests(query.filters)}
      group by 1, 2, 3, 4
    )
    select project, branch, tier, session, requests, null::timestamptz as since from groups
    union all select null, null, null, null, 0, requested_at from oldest`.execute(trx),
  );
  const since = rows.find((row) => row.since !== null)?.since ?? null;
  const groups = rows.flatMap(({ since: isTotal, requests, ...group }) =>
    isTotal === null ? [{ ...group, requests: Number(requests) }] : [],
  );
  return { groups, since };
}

/** Finds the calls with a prompt among the `limit` before a call, with the call itself, and the `limit` after it, in no order. */
export async function findSamePrompt(
  db: CloudDatabase,
  workspaceId: string,
  { requestedAt, promptHash }: { readonly requestedAt: Millis; readonly promptHash: string },
  limit: number,
): Promise<SamePromptCall[]> {
  const at = formatInstant(requestedAt);
  const { rows } = await inReadScope(db, { workspaceId }, (trx) =>
    sql<{ request_id: string; requested_at: Millis }>`
    select request_id, requested_at from (
      (select request_id, requested_at, prompt_hash from requests
      where workspace_id = ${workspaceId}::uuid and requested_at <= ${at}::timestamptz
      order by requested_at desc, request_id desc limit ${limit}::bigint)
      union all
      (select request_id, requested_at, prompt_hash from requests
      where workspace_id = ${workspaceId}::uuid and requested_at > ${at}::timestamptz
      order by requested_at, request_id limit ${limit}::bigint)
    ) as near where prompt_hash = ${promptHash}`.execute(trx),
  );
  return rows.map(({ request_id, requested_at }) => ({ requestId: request_id, requestedAt: requested_at }));
}
