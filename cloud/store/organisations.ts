import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { expectNoneLeft, expectRows, updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change, hasAuditEvent } from "./audit-events.ts";
import { addToDirectory, readDeletedAt, workspacesOf } from "./directory.ts";
import type { CloudDatabase } from "./open-database.ts";
import { findDeletedAccounts, lockPerson } from "./people.ts";
import type { CloudSchema, KeyScope, OrganisationRole } from "./schema.ts";
import { addRandomTask, addTask, endTask, RESUME_AFTER_MS, type Task } from "./tasks.ts";
import { enterOrganisation, inScope, showOrganisations } from "./transaction.ts";

/** An organisation, with the member's role. */
export interface OrganisationAccess {
  readonly organisationId: string;
  readonly name: string;
  readonly role: OrganisationRole;
}

/** Lists a person's organisations, by name. */
export async function listOrganisations(
  db: CloudDatabase,
  userId: string,
): Promise<readonly OrganisationAccess[]> {
  return await inScope(db, { userId }, (trx) => organisationsOf(trx, userId));
}

async function organisationsOf(
  trx: Transaction<CloudSchema>,
  userId: string,
): Promise<readonly OrganisationAccess[]> {
  const own = await trx
    .selectFrom("organisation_members")
    .select(["organisation_id", "role"])
    .where("user_id", "=", userId)
    .where("removed_at", "is", null)
    .execute();
  if (own.length === 0) return [];
  const roles = new Map(own.map(({ organisation_id, role }) => [organisation_id, role]));
  await showOrganisations(trx, [...roles.keys()]);
  const rows = await trx
    .selectFrom("organisations")
    .select(["organisation_id", "name"])
    .where("organisation_id", "in", [...roles.keys()])
    .where("deleted_at", "is", null)
    .orderBy("name")
    .execute();
  return rows.map(({ organisation_id: organisationId, name }) => ({
    organisationId,
    name,
    role: roles.get(organisationId) as OrganisationRole,
  }));
}

/** Returns a person's role in an organisation, which becomes the transaction's scope; null if they have none. */
export async function readOrganisationRole(
  trx: Transaction<CloudSchema>,
  organisationId: string,
  userId: string,
): Promise<OrganisationRole | null> {
  await enterOrganisation(trx, organisationId);
  const row = await trx
    .selectFrom("organisation_members")
    .select("role")
    .where("organisation_id", "=", organisationId)
    .where("user_id", "=", userId)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  return row?.role ?? null;
}

/** Finds an organisation with the person's role; null if it is unknown or deleted, or they are not a member. */
export async function findOrganisationAccess(
  db: CloudDatabase,
  userId: string,
  organisationId: string,
): Promise<OrganisationAccess | null> {
  const all = await listOrganisations(db, userId);
  return all.find((one) => one.organisationId === organisationId) ?? null;
}

/** Most organisations that a person owns when they create one. Decision: more than a person needs, few enough to stop a loop. */
export const MAX_OWNED_ORGANISATIONS = 20;

/**
 * Creates an organisation with its owner and a first workspace. Concurrent calls for a person wait for each other, so the number is exact.
 * `account_deleted`: the owner deleted their account meanwhile.
 */
export async function createOrganisation(
  db: CloudDatabase,
  fresh: {
    readonly organisationId: string;
    readonly name: string;
    readonly workspaceId: string;
    readonly workspaceName: string;
    readonly ownerUserId: string;
  },
  change: Change,
): Promise<"made" | "too_many_organisations" | "account_deleted"> {
  const { organisationId, name, workspaceId, workspaceName, ownerUserId } = fresh;
  const begun = await inScope(db, { organisationId, userId: ownerUserId }, async (trx) => {
    await lockPerson(trx, ownerUserId, change.now);
    if ((await findDeletedAccounts(trx, [ownerUserId])).size > 0) return "account_deleted";
    const owned = (await organisationsOf(trx, ownerUserId)).filter(({ role }) => role === "owner");
    if (owned.length >= MAX_OWNED_ORGANISATIONS) return "too_many_organisations";
    const created_at = change.now;
    await trx
      .insertInto("organisations")
      .values({ organisation_id: organisationId, name, created_at })
      .execute();
    await trx
      .insertInto("organisation_members")
      .values({ organisation_id: organisationId, user_id: ownerUserId, role: "owner", created_at })
      .execute();
    return await beginWorkspace(trx, { workspaceId, organisationId, name: workspaceName }, change);
  });
  if (typeof begun === "string") return begun;
  await finishWorkspace(db, begun);
  return "made";
}

/** Most workspaces per organisation. Decision: some operations visit all of them, so their number is bounded. */
export const MAX_WORKSPACES = 200;

/** Creates a workspace on the Solo plan, unless the organisation was deleted or has too many workspaces. */
export async function createWorkspace(
  db: CloudDatabase,
  fresh: { readonly workspaceId: string; readonly organisationId: string; readonly name: string },
  change: Change,
): Promise<"made" | "not_found" | "too_many_workspaces"> {
  const { organisationId } = fresh;
  const begun = await inScope(db, { organisationId }, async (trx) => {
    if (!(await lockOrganisation(trx, organisationId))) return "not_found";
    if ((await workspacesOf(trx, organisationId)).length >= MAX_WORKSPACES) return "too_many_workspaces";
    return await beginWorkspace(trx, fresh, change);
  });
  if (typeof begun === "string") return begun;
  await finishWorkspace(db, begun);
  return "made";
}

async function beginWorkspace(
  trx: Transaction<CloudSchema>,
  fresh: { readonly workspaceId: string; readonly organisationId: string; readonly name: string },
  change: Change,
): Promise<Task<"create_workspace">> {
  await addToDirectory(trx, fresh);
  const { workspaceId, organisationId, name } = fresh;
  const details = { organisationId, name, change };
  return await addTask(trx, "create_workspace", workspaceId, details, change.now + RESUME_AFTER_MS);
}

/** Creates the workspace of a task, unless an earlier run did. If its organisation was deleted in the meantime, so is the workspace. */
export async function finishWorkspace(db: CloudDatabase, task: Task<"create_workspace">): Promise<void> {
  const { taskId: workspaceId, details } = task;
  const { organisationId, name, change } = details;
  await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const existing = await trx
      .selectFrom("workspaces")
      .select("workspace_id")
      .where("workspace_id", "=", workspaceId)
      .executeTakeFirst();
    if (existing !== undefined) return;
    const created_at = change.now;
    const deleted_at = await readDeletedAt(trx, workspaceId);
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto("workspaces")
      .values({ workspace_id: workspaceId, organisation_id: organisationId, name, created_at, deleted_at })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    expectRows(numInsertedOrUpdatedRows, 1);
    await addAuditEvent(trx, workspaceId, "workspace_created", change, { name });
  });
  await endTask(db, task);
}

/**
 * Locks an organisation's row to the end of the transaction, so that changes to its members run one after another. The
 * transaction's scope must be the organisation. False if it is not in service.
 */
export async function lockOrganisation(
  trx: Transaction<CloudSchema>,
  organisationId: string,
): Promise<boolean> {
  const row = await trx
    .selectFrom("organisations")
    .select("organisation_id")
    .where("organisation_id", "=", organisationId)
    .where("deleted_at", "is", null)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Lists an organisation's members, in the order they joined. */
export async function listOrganisationMembers(
  db: CloudDatabase,
  organisationId: string,
): Promise<readonly { userId: string; role: OrganisationRole; joinedAt: Millis }[]> {
  const rows = await inScope(db, { organisationId }, (trx) =>
    trx
      .selectFrom("organisation_members")
      .select(["user_id", "role", "created_at"])
      .where("organisation_id", "=", organisationId)
      .where("removed_at", "is", null)
      .orderBy("created_at")
      .orderBy("user_id")
      .execute(),
  );
  return rows.map((row) => ({ userId: row.user_id, role: row.role, joinedAt: row.created_at }));
}

/**
 * Changes a member's role in an organisation; null removes them from it and from all its workspaces. Each workspace gets an
 * audit event, since the change affects it. The last owner stays an owner.
 */
export async function changeOrganisationRole(
  db: CloudDatabase,
  organisationId: string,
  userId: string,
  role: OrganisationRole | null,
  change: Change,
): Promise<"changed" | "not_found" | "last_owner"> {
  const begun = await inScope(db, { organisationId }, async (trx) => {
    if (!(await lockOrganisation(trx, organisationId))) return "not_found";
    const members = await activeMembers(trx, organisationId);
    const current = members.find((member) => member.user_id === userId);
    if (current === undefined) return "not_found";
    if (current.role === role) return "changed";
    const owners = members.filter((member) => member.role === "owner");
    if (current.role === "owner" && owners.length === 1) return "last_owner";
    await updateOne(
      trx
        .updateTable("organisation_members")
        .set(role === null ? { removed_at: change.now } : { role })
        .where("organisation_id", "=", organisationId)
        .where("user_id", "=", userId),
    );
    const workspaceIds = await workspacesOf(trx, organisationId);
    const details = { organisationId, userId, role, roleBefore: current.role, workspaceIds, change };
    return await addRandomTask(trx, "change_organisation_role", details, change.now + RESUME_AFTER_MS);
  });
  if (typeof begun === "string") return begun;
  await finishRoleChange(db, begun);
  return "changed";
}

/**
 * Ends in each workspace what the former role allowed, unless an earlier run did. A resumed task keeps a membership that began later.
 */
export async function finishRoleChange(
  db: CloudDatabase,
  task: Task<"change_organisation_role">,
  isResumed = false,
): Promise<void> {
  const { taskId, details } = task;
  const { userId, role, roleBefore, workspaceIds, change } = details;
  for (const workspaceId of workspaceIds) {
    await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
      if (await hasAuditEvent(trx, workspaceId, taskId)) return;
      const isBack = isResumed && (await joinedAfter(trx, workspaceId, userId, change.now));
      if (role === null && !isBack) await endMembership(trx, workspaceId, userId, change.now);
      if (role === "member") await revokeInvitationsBy(trx, workspaceId, userId, change.now);
      const facts = { user_id: userId, role, role_before: roleBefore };
      await addAuditEvent(trx, workspaceId, "organisation_role_changed", change, facts, taskId);
    });
  }
  await endTask(db, task);
}

async function joinedAfter(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
  at: Millis,
): Promise<boolean> {
  const row = await trx
    .selectFrom("memberships")
    .select("created_at")
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  return row !== undefined && row.created_at > at;
}

/** Lists the members of the organisation, which must be the transaction's scope. */
export async function activeMembers(
  trx: Transaction<CloudSchema>,
  organisationId: string,
): Promise<readonly { readonly user_id: string; readonly role: OrganisationRole }[]> {
  return await trx
    .selectFrom("organisation_members")
    .select(["user_id", "role"])
    .where("organisation_id", "=", organisationId)
    .where("removed_at", "is", null)
    .execute();
}

/**
 * Ends a membership and revokes the person's admin keys and invitations in the workspace, which must be the transaction's
 * scope. Their sync keys stay: they get 403 until the owner is invited again. True if there was a membership.
 */
export async function endMembership(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
  now: Millis,
): Promise<boolean> {
  await revokeKeysOf(trx, workspaceId, userId, ["admin"], now);
  await revokeInvitationsBy(trx, workspaceId, userId, now);
  if ((await lockMembership(trx, workspaceId, userId)) === null) return false;
  await updateOne(
    trx
      .updateTable("memberships")
      .set({ removed_at: now })
      .where("workspace_id", "=", workspaceId)
      .where("user_id", "=", userId),
  );
  return true;
}

/**
 * Locks a person's membership of the workspace, which must be the transaction's scope, and returns its role; null without a
 * membership.
 */
export async function lockMembership(trx: Transaction<CloudSchema>, workspaceId: string, userId: string) {
  const membership = await trx
    .selectFrom("memberships")
    .select("role")
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .where("removed_at", "is", null)
    .forUpdate()
    .executeTakeFirst();
  return membership?.role ?? null;
}

/** Revokes a person's keys of these scopes in the workspace, which must be the transaction's scope. */
export async function revokeKeysOf(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
  scopes: readonly KeyScope[],
  now: Millis,
): Promise<void> {
  await trx
    .updateTable("sync_keys")
    .set({ revoked_at: now })
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .where("scope", "in", scopes)
    .where("revoked_at", "is", null)
    .execute();
  await expectNoneLeft(
    trx
      .selectFrom("sync_keys")
      .select("key_id")
      .where("workspace_id", "=", workspaceId)
      .where("user_id", "=", userId)
      .where("scope", "in", scopes)
      .where("revoked_at", "is", null),
  );
}

/** Revokes the pending invitations that a former admin sent, so that they leave no back door. */
export async function revokeInvitationsBy(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
  now: Millis,
): Promise<void> {
  await trx
    .updateTable("invitations")
    .set({ revoked_at: now })
    .where("workspace_id", "=", workspaceId)
    .where("invited_by", "=", userId)
    .where("accepted_at", "is", null)
    .where("revoked_at", "is", null)
    .execute();
  await expectNoneLeft(
    trx
      .selectFrom("invitations")
      .select("invitation_id")
      .where("workspace_id", "=", workspaceId)
      .where("invited_by", "=", userId)
      .where("accepted_at", "is", null)
      .where("revoked_at", "is", null),
  );
}

/**
 * Adds a person to an organisation as a member, unless they belong to it. A former owner or admin returns as a member. The transaction's
 * scope must be the organisation.
 */
export async function joinOrganisation(
  trx: Transaction<CloudSchema>,
  organisationId: string,
  userId: string,
  now: Millis,
): Promise<void> {
  await sql`insert into organisation_members as m (organisation_id, user_id, role, created_at)
    values (${organisationId}::uuid, ${userId}, 'member', ${now}::timestamptz)
    on conflict (organisation_id, user_id) do update
      set role = 'member', created_at = excluded.created_at, removed_at = null
      where m.removed_at is not null`.execute(trx);
}
