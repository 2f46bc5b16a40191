import { type RawBuilder, sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { changeTogether, expectRows } from "./affected-rows.ts";
import { deleteEmptyBranches } from "./branch-sums.ts";
import { readRows } from "./ingest.ts";
import { PERSONAL_REQUEST_COLUMNS } from "./request-columns.ts";
import { rollupAdditions, rollupChanges } from "./rollup-changes.ts";
import type { CloudSchema } from "./schema.ts";
import type { StoredRequest } from "./stored-request.ts";

/** Most rows of one transaction. Decision: few enough that nothing else waits for them for long. */
export const BATCH_ROWS = 1_000;

/**
 * The tables from which a workspace's rows are deleted, in an order that foreign keys allow. What remains: the workspace's
 * row without its name, the prompt views and audit events without their texts, and the cost seals without their digests.
 */
export const DELETED_WITH_WORKSPACE = [
  "request_body_versions",
  "request_bodies",
  "body_keys",
  "erasures",
  "requests",
  "usage_hourly",
  "usage_daily",
  "usage_branches",
  "body_first_sightings",
  "prompt_view_tickets",
  "limit_readings",
  "coverage_hours",
  "coverage_days",
  "daemon_runs",
  "saved_views",
  "budget_warnings",
  "budgets",
  "sync_keys",
  "machines",
  "invitations",
  "memberships",
] as const;

/** Deletes at most one batch of a workspace's rows. Returns how many; 0 only after none was found. */
export async function deleteBatch(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  table: (typeof DELETED_WITH_WORKSPACE)[number],
  matches: RawBuilder<unknown>,
): Promise<number> {
  const condition = sql`workspace_id = ${workspaceId}::uuid and ${matches}`;
  const { numAffectedRows } = await sql`delete from ${sql.table(table)}
    where workspace_id = ${workspaceId}::uuid and ctid = any (array(
      select ctid from ${sql.table(table)} where ${condition} limit ${sql.lit(BATCH_ROWS)}))`.execute(trx);
  const deleted = Number(numAffectedRows ?? 0);
  if (deleted === 0) await expectNoneIn(trx, table, condition);
  return deleted;
}

/** Erases the digests of some seals. Their places in the chain remain, and the chain still verifies. */
export async function blankSeals(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  now: Millis,
): Promise<number> {
  const condition = sql`workspace_id = ${workspaceId}::uuid and leaves is not null`;
  const { numAffectedRows } = await sql`update cost_seals set leaves = null, erased_at = ${now}::timestamptz
    where workspace_id = ${workspaceId}::uuid and ctid = any (array(select ctid from cost_seals
      where ${condition} limit ${sql.lit(BATCH_ROWS)}))`.execute(trx);
  const blanked = Number(numAffectedRows ?? 0);
  if (blanked === 0) await expectNoneIn(trx, "cost_seals", condition);
  return blanked;
}

/** Blanks the texts of prompt views. Their places in the chain, ids and times remain, and the chain still verifies. */
export async function blankViews(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  condition: RawBuilder<unknown>,
  now: Millis,
): Promise<number> {
  const matches = sql`workspace_id = ${workspaceId}::uuid and erased_at is null and ${condition}`;
  const blanks = sql`reason = '', consent_grant_id = null, content_salt = null, client_ip = null, user_agent = null, request_sha256 = null,
      response_sha256 = null, erased_at = ${now}::timestamptz`;
  return await blankRows(trx, "prompt_views", blanks, matches);
}

/** Blanks the details of audit events: addresses, host names, names of workspaces. The chain still verifies. */
export async function blankEvents(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  condition: RawBuilder<unknown>,
  now: Millis,
): Promise<number> {
  const matches = sql`workspace_id = ${workspaceId}::uuid and erased_at is null and details <> '{}'::jsonb
      and ${condition}`;
  const blanks = sql`details = '{}'::jsonb, content_salt = null, erased_at = ${now}::timestamptz`;
  return await blankRows(trx, "audit_events", blanks, matches);
}

/** Blanks columns of all rows that match, which then no longer do. Returns how many there were. */
export async function blankRows(
  trx: Transaction<CloudSchema>,
  table: "prompt_views" | "audit_events" | "machines",
  blanks: RawBuilder<unknown>,
  matches: RawBuilder<unknown>,
): Promise<number> {
  const { numAffectedRows } = await sql`update ${sql.table(table)} set ${blanks} where ${matches}`.execute(
    trx,
  );
  await expectNoneIn(trx, table, matches);
  return Number(numAffectedRows ?? 0);
}

/**
 * Erases the columns of some of a workspace's requests that describe a person, and moves their sums from their branches to "no branch".
 * Tokens and costs stay. Returns how many requests had any.
 */
export async function blankRequests(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  matches: RawBuilder<unknown>,
): Promise<number> {
  const described = sql.raw(PERSONAL_REQUEST_COLUMNS.map((column) => `${column} is not null`).join(" or "));
  const blanked = sql.raw(PERSONAL_REQUEST_COLUMNS.map((column) => `${column} = null`).join(", "));
  const condition = sql`workspace_id = ${workspaceId}::uuid and ${matches} and (${described})`;
  const { rows: found } = await sql<{ request_id: string }>`
    select request_id from requests where ${condition} limit ${sql.lit(BATCH_ROWS)}`.execute(trx);
  if (found.length === 0) return 0;
  const locked = await readRows(trx, workspaceId, found, true);
  // Another process may have erased some of them before they were locked.
  const requests = [...locked.values()].filter((row) =>
    PERSONAL_REQUEST_COLUMNS.some((column) => row[column] !== null),
  );
  if (requests.length === 0) {
    await expectNoneIn(trx, "requests", condition);
    return 0;
  }
  const ids = JSON.stringify(requests.map(({ request_id }) => request_id));
  const { numAffectedRows } = await sql`update requests set ${blanked}
    where workspace_id = ${workspaceId}::uuid
      and request_id in (select value::uuid from json_array_elements_text(${ids}::text::json))`.execute(trx);
  expectRows(numAffectedRows, requests.length);
  await forgetBranches(trx, workspaceId, requests);
  return requests.length;
}

/** Moves the sums of requests from their branches to "no branch". A branch without requests left is deleted. */
async function forgetBranches(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requests: readonly StoredRequest[],
): Promise<void> {
  const changes = rollupChanges([
    { sign: -1, requests },
    { sign: 1, requests: requests.map((request) => ({ ...request, git_branch: null })) },
  ]);
  await changeTogether(trx, rollupAdditions(workspaceId, changes));
  await deleteEmptyBranches(
    trx,
    workspaceId,
    changes.branches.map(({ starts_at }) => starts_at),
  );
}

/** Throws a conflict if a table has a row that a statement before must have changed or deleted. */
export async function expectNoneIn(
  trx: Transaction<CloudSchema>,
  table: string,
  condition: RawBuilder<unknown>,
): Promise<void> {
  const { rows } = await sql`select 1 from ${sql.table(table)} where ${condition} limit 1`.execute(trx);
  expectRows(rows.length, 0);
}
