import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { updateOne } from "./affected-rows.ts";
import {
  BATCH_ROWS,
  blankEvents,
  blankRequests,
  blankRows,
  blankSeals,
  blankViews,
  DELETED_WITH_WORKSPACE,
  deleteBatch,
  expectNoneIn,
} from "./delete-and-blank.ts";
import { workspacesOfMember } from "./directory.ts";
import { addErased, countErased, type ErasedRows, kindOf } from "./erased-rows.ts";
import { toJson } from "./json-value.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { enterOrganisation, inScope, type TenantScope } from "./transaction.ts";

/** A deleted workspace, organisation or account that will be erased. */
export interface PurgeSubject {
  readonly kind: "workspace" | "organisation" | "account";
  readonly id: string;
  readonly deletedAt: Millis;
}

const asPurge = <T>(
  db: CloudDatabase,
  scope: TenantScope,
  work: (trx: Transaction<CloudSchema>) => Promise<T>,
): Promise<T> => inScope(db, scope, work, "meter_purge");

/** Lists what was deleted before an instant and is not erased yet, the longest deleted first. */
export async function listDeleted(db: CloudDatabase, before: Millis): Promise<readonly PurgeSubject[]> {
  const { rows } = await asPurge(db, {}, (trx) =>
    sql<{ kind: PurgeSubject["kind"]; id: string; at: Millis }>`
      select 'workspace' as kind, workspace_id::text as id, deleted_at as at from workspace_directory
        where deleted_at <= ${before}::timestamptz and purged_at is null
      union all
      select 'organisation', organisation_id::text, deleted_at from organisations
        where deleted_at <= ${before}::timestamptz and purged_at is null
      union all
      select 'account', user_id, deleted_at from account_deletions
        where deleted_at <= ${before}::timestamptz and purged_at is null
      order by at, kind desc, id`.execute(trx),
  );
  return rows.map(({ kind, id, at }) => ({ kind, id, deletedAt: at }));
}

/** A subject that was erased. */
export interface ErasedSubject extends PurgeSubject {
  readonly erasedAt: Millis;
  /** Null if it was erased by a version that did not count. */
  readonly rows: ErasedRows | null;
}

/** Finds what was erased, and when; null if nothing that was erased has this id. */
export async function findErased(db: CloudDatabase, id: string): Promise<ErasedSubject | null> {
  const { rows } = await asPurge(db, {}, (trx) =>
    sql<{ kind: PurgeSubject["kind"]; at: Millis; erased: Millis; rows: ErasedRows | null }>`
      select 'workspace' as kind, deleted_at as at, purged_at as erased, erased_rows as rows from workspace_directory
        where workspace_id::text = ${id} and purged_at is not null
      union all
      select 'organisation', deleted_at, purged_at, erased_rows from organisations
        where organisation_id::text = ${id} and purged_at is not null
      union all
      select 'account', deleted_at, purged_at, erased_rows from account_deletions
        where user_id = ${id} and purged_at is not null`.execute(trx),
  );
  const [found] = rows;
  return found === undefined
    ? null
    : { kind: found.kind, id, deletedAt: found.at, erasedAt: found.erased, rows: found.rows };
}

/** Lists the organisations that were deleted with an account because it was their only member, and their workspaces. */
export async function listDeletedWithAccount(
  db: CloudDatabase,
  userId: string,
): Promise<readonly PurgeSubject[]> {
  const { rows } = await asPurge(db, { userId }, (trx) =>
    sql<{ kind: PurgeSubject["kind"]; id: string; at: Millis }>`
      with own as (
        select o.organisation_id, o.deleted_at, o.purged_at from organisations o
          join organisation_members m on m.organisation_id = o.organisation_id
          join account_deletions a on a.user_id = m.user_id and a.deleted_at = o.deleted_at
          where m.user_id = ${userId})
      select 'workspace' as kind, w.workspace_id::text as id, w.deleted_at as at from workspace_directory w
        join own on own.organisation_id = w.organisation_id
        where w.deleted_at is not null and w.purged_at is null
      union all
      select 'organisation', organisation_id::text, deleted_at from own where purged_at is null
      order by kind desc, id`.execute(trx),
  );
  return rows.map(({ kind, id, at }) => ({ kind, id, deletedAt: at }));
}

/** Lists accounts whose deletion began but was not confirmed as finished. */
export async function listUnclosedAccounts(db: CloudDatabase): Promise<readonly string[]> {
  const rows = await asPurge(db, {}, (trx) =>
    trx
      .selectFrom("account_deletions")
      .select("user_id")
      .where("closed_at", "is", null)
      .orderBy("deleted_at")
      .limit(BATCH_ROWS)
      .execute(),
  );
  return rows.map(({ user_id }) => user_id);
}

/** Records that an account is closed. */
export async function markClosed(db: CloudDatabase, userId: string, now: Millis): Promise<void> {
  await asPurge(db, {}, (trx) =>
    trx
      .updateTable("account_deletions")
      .set({ closed_at: now })
      .where("user_id", "=", userId)
      .where("closed_at", "is", null)
      .execute(),
  );
}

/** The result of one step: the rows it touched, and whether the subject is done or another process holds it. */
export type PurgeStep =
  | { readonly kind: "more"; readonly rows: number }
  | { readonly kind: "done"; readonly rows: number }
  | { readonly kind: "busy" };

/** The row on the coordinator that says when a subject was deleted and when it was erased, and the column of its id. */
const DELETION_ROWS = {
  organisation: ["organisations", "organisation_id"],
  account: ["account_deletions", "user_id"],
} as const;

/** Locks a deleted subject's row to the end of the transaction. False if another process holds it, or it is erased already. */
async function holdDeleted(
  trx: Transaction<CloudSchema>,
  kind: "organisation" | "account",
  id: string,
): Promise<boolean> {
  const [table, key] = DELETION_ROWS[kind];
  const { rows } = await sql`select 1 from ${sql.table(table)}
    where ${sql.ref(key)} = ${id} and deleted_at is not null and purged_at is null
    for update skip locked`.execute(trx);
  return rows.length > 0;
}

/**
 * Erases part of a deleted workspace: at most one batch of rows, in one transaction. Call it until it is done, then
 * `finishWorkspacePurge()`. A crash in between loses nothing, since each step deletes what is still there.
 */
export async function purgeWorkspace(
  db: CloudDatabase,
  workspaceId: string,
  now: Millis,
): Promise<PurgeStep> {
  return await asPurge(db, { workspaceId, readsThenWrites: true }, async (trx): Promise<PurgeStep> => {
    const held = await holdWorkspace(trx, workspaceId);
    if (held !== "held") return held === "busy" ? { kind: "busy" } : { kind: "done", rows: 0 };
    for (const table of DELETED_WITH_WORKSPACE) {
      const rows = await deleteBatch(trx, workspaceId, table, sql`true`);
      if (rows > 0) return await eraseMore(trx, workspaceId, workspaceId, { [kindOf(table)]: rows });
    }
    const cost_seals = await blankSeals(trx, workspaceId, now);
    if (cost_seals > 0) return await eraseMore(trx, workspaceId, workspaceId, { cost_seals });
    const prompt_views = await blankViews(trx, workspaceId, sql`true`, now);
    const audit_events = await blankEvents(trx, workspaceId, sql`true`, now);
    await countErased(trx, workspaceId, workspaceId, { prompt_views, audit_events });
    await updateOne(
      trx
        .updateTable("workspaces")
        .set({ name: "", prompt_hash_key: null, purged_at: now })
        .where("workspace_id", "=", workspaceId),
    );
    return { kind: "done", rows: prompt_views + audit_events };
  });
}

/** Counts rows of one kind, and returns the result of their step. */
async function eraseMore(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  subjectId: string,
  erased: ErasedRows,
): Promise<PurgeStep> {
  await countErased(trx, workspaceId, subjectId, erased);
  return { kind: "more", rows: Object.values(erased).reduce((sum, rows) => sum + rows, 0) };
}

/** Locks a deleted workspace's row to the end of the transaction. A workspace that was never created is gone too. */
async function holdWorkspace(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
): Promise<"held" | "busy" | "gone"> {
  const { rows } = await sql`select 1 from workspaces
    where workspace_id = ${workspaceId}::uuid and deleted_at is not null and purged_at is null
    for update skip locked`.execute(trx);
  if (rows.length > 0) return "held";
  const row = await trx
    .selectFrom("workspaces")
    .select("purged_at")
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
  return row === undefined || row.purged_at !== null ? "gone" : "busy";
}

/** Removes what the directory still has of an erased workspace, and records that it is erased. False if another process did. */
export async function finishWorkspacePurge(
  db: CloudDatabase,
  workspaceId: string,
  erased: ErasedRows,
  now: Millis,
): Promise<boolean> {
  return await asPurge(db, {}, async (trx) => {
    const counts = [erased];
    for (const table of ["pairing_sessions", "person_workspaces", "weekly_summaries"] as const) {
      const { numDeletedRows } = await trx
        .deleteFrom(table)
        .where("workspace_id", "=", workspaceId)
        .executeTakeFirstOrThrow();
      counts.push({ [table]: Number(numDeletedRows) });
    }
    const { numUpdatedRows } = await trx
      .updateTable("workspace_directory")
      .set({ purged_at: now, erased_rows: toJson(addErased(counts)) })
      .where("workspace_id", "=", workspaceId)
      .where("purged_at", "is", null)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  });
}

/** Erases a deleted organisation's name and members. Its workspaces were deleted with it and are due too. */
export async function purgeOrganisation(
  db: CloudDatabase,
  organisationId: string,
  now: Millis,
): Promise<PurgeStep> {
  return await asPurge(db, { organisationId }, async (trx): Promise<PurgeStep> => {
    if (!(await holdDeleted(trx, "organisation", organisationId))) return { kind: "busy" };
    const { numDeletedRows } = await trx
      .deleteFrom("organisation_members")
      .where("organisation_id", "=", organisationId)
      .executeTakeFirstOrThrow();
    await updateOne(
      trx
        .updateTable("organisations")
        .set({
          name: "",
          purged_at: now,
          erased_rows: toJson(addErased([{ organisation_members: Number(numDeletedRows) }])),
        })
        .where("organisation_id", "=", organisationId),
    );
    return { kind: "done", rows: Number(numDeletedRows) };
  });
}

/** Lists every workspace that a person was ever a member of, directly or through an organisation. */
export async function workspacesOfPerson(db: CloudDatabase, userId: string): Promise<readonly string[]> {
  return await asPurge(db, { userId }, async (trx) => {
    const found = new Set(await workspacesOfMember(trx, userId));
    const organisations = await trx
      .selectFrom("organisation_members")
      .select("organisation_id")
      .where("user_id", "=", userId)
      .execute();
    for (const { organisation_id } of organisations) {
      await enterOrganisation(trx, organisation_id);
      const workspaces = await trx
        .selectFrom("workspace_directory")
        .select("workspace_id")
        .where("organisation_id", "=", organisation_id)
        .execute();
      for (const { workspace_id } of workspaces) found.add(workspace_id);
    }
    return [...found].sort();
  });
}

/**
 * Erases part of what a deleted account left in one workspace: the bodies of its requests, the columns of its requests that
 * describe a person, its keys, machines and invitations, and texts in views and events. Tokens and costs remain, under an
 * account id that no longer leads to a name.
 */
export async function purgeAccountIn(
  db: CloudDatabase,
  userId: string,
  workspaceId: string,
  now: Millis,
): Promise<PurgeStep> {
  return await asPurge(db, { workspaceId, readsThenWrites: true }, async (trx): Promise<PurgeStep> => {
    // The lock only keeps two processes from waiting for each other: each step deletes what is still there.
    const { rows: locks } = await sql<{ held: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended(${userId}::text, 0)) as held`.execute(trx);
    if (locks[0]?.held !== true) return { kind: "busy" };
    // The purge of the workspace locks this row before the others too.
    await sql`select 1 from workspaces where workspace_id = ${workspaceId}::uuid for no key update`.execute(
      trx,
    );
    for (const table of ["request_body_versions", "request_bodies"] as const) {
      const bodies = await deleteBatch(
        trx,
        workspaceId,
        table,
        sql`request_id in (select request_id from requests
          where workspace_id = ${workspaceId}::uuid and user_id = ${userId})`,
      );
      if (bodies > 0) return await eraseMore(trx, workspaceId, userId, { [kindOf(table)]: bodies });
    }
    const blanked = await blankRequests(trx, workspaceId, sql`user_id = ${userId}`);
    if (blanked > 0)
      return await eraseMore(trx, workspaceId, userId, { requests_without_description: blanked });
    const erased = await purgePlace(trx, userId, workspaceId, now);
    await countErased(trx, workspaceId, userId, erased);
    return { kind: "done", rows: erased.prompt_views + erased.audit_events };
  });
}

async function purgePlace(
  trx: Transaction<CloudSchema>,
  userId: string,
  workspaceId: string,
  now: Millis,
): Promise<ErasedRows & { readonly prompt_views: number; readonly audit_events: number }> {
  const inWorkspace = sql`workspace_id = ${workspaceId}::uuid`;
  const ownMachines = sql`select machine_id from machines
    where workspace_id = ${workspaceId}::uuid and user_id = ${userId}`;
  const views = await blankViews(
    trx,
    workspaceId,
    sql`(viewer_user_id = ${userId} or subject_user_id = ${userId})`,
    now,
  );
  const events = await blankEvents(
    trx,
    workspaceId,
    sql`(details ->> 'email' in (select email from invitations where ${inWorkspace} and accepted_by = ${userId})
      or (kind in ('body_replaced', 'budget_lifted', 'view_shared', 'view_renamed', 'view_unshared', 'view_deleted')
        and actor_user_id = ${userId})
      or details ->> 'view_id' in (select v.view_id::text from saved_views v where v.workspace_id = ${workspaceId}::uuid and v.user_id = ${userId})
      or details ->> 'machine_id' in (select m.machine_id::text from (${ownMachines}) m))`,
    now,
  );
  const own = sql`${inWorkspace} and user_id = ${userId}`;
  const described = sql`${own} and (hostname <> '' or label is not null or fingerprint is not null)`;
  const machines = await blankRows(
    trx,
    "machines",
    sql`hostname = '', label = null, fingerprint = null`,
    described,
  );
  const deleted = [
    ["limit_readings", sql`${inWorkspace} and (user_id = ${userId} or machine_id in (${ownMachines}))`],
    ["coverage_hours", sql`${inWorkspace} and machine_id in (${ownMachines})`],
    ["coverage_days", sql`${inWorkspace} and machine_id in (${ownMachines})`],
    ["daemon_runs", sql`${inWorkspace} and machine_id in (${ownMachines})`],
    ["sync_keys", own],
    ["invitations", sql`${inWorkspace} and accepted_by = ${userId}`],
    ["prompt_view_tickets", sql`${inWorkspace} and viewer_user_id = ${userId}`],
    ["saved_views", own],
    ["memberships", own],
  ] as const;
  const erased: Record<string, number> = {};
  for (const [table, condition] of deleted) {
    const { numAffectedRows } = await sql`delete from ${sql.table(table)} where ${condition}`.execute(trx);
    erased[kindOf(table)] = Number(numAffectedRows);
    await expectNoneIn(trx, table, condition);
  }
  return { ...erased, machines, prompt_views: views, audit_events: events };
}

/** Finishes erasing an account after all its workspaces: deletes what belongs to no workspace. */
export async function finishAccount(
  db: CloudDatabase,
  userId: string,
  erased: ErasedRows,
  now: Millis,
): Promise<PurgeStep> {
  return await asPurge(db, { userId }, async (trx): Promise<PurgeStep> => {
    if (!(await holdDeleted(trx, "account", userId))) return { kind: "busy" };
    const counts = [erased];
    for (const table of [
      "organisation_members",
      "person_workspaces",
      "pairing_sessions",
      "weekly_summaries",
    ] as const) {
      const { numDeletedRows } = await trx
        .deleteFrom(table)
        .where("user_id", "=", userId)
        .executeTakeFirstOrThrow();
      counts.push({ [table]: Number(numDeletedRows) });
    }
    const { numUpdatedRows } = await trx
      .updateTable("checkout_consent_records")
      .set({ ip: null, user_agent: null })
      .where("user_id", "=", userId)
      .executeTakeFirstOrThrow();
    counts.push({ consents: Number(numUpdatedRows) });
    await updateOne(
      trx
        .updateTable("account_deletions")
        .set({ purged_at: now, closed_at: now, erased_rows: toJson(addErased(counts)) })
        .where("user_id", "=", userId),
    );
    return { kind: "done", rows: 1 };
  });
}

/** Deletes pairings that ended long ago. Returns the number of rows. */
export async function purgeEnded(db: CloudDatabase, now: Millis): Promise<number> {
  return await asPurge(db, {}, async (trx) => {
    const { numDeletedRows } = await trx
      .deleteFrom("pairing_sessions")
      .where("expires_at", "<", now - 86_400_000)
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  });
}
