import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema, KeyScope } from "./schema.ts";
import { enterOrganisation, enterWorkspace, inScope, showOrganisations } from "./transaction.ts";

/** A member's role in an organisation. */
export type OrganisationRole = "owner" | "admin" | "member";

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
  return await inScope(db, { userId }, async (trx) => {
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
  });
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

/** Creates an organisation with its owner and a first workspace. */
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
): Promise<void> {
  const { organisationId, name, workspaceId, workspaceName, ownerUserId } = fresh;
  await inScope(db, { organisationId, workspaceId }, async (trx) => {
    const created_at = change.now;
    await trx
      .insertInto("organisations")
      .values({ organisation_id: organisationId, name, created_at })
      .execute();
    await trx
      .insertInto("organisation_members")
      .values({ organisation_id: organisationId, user_id: ownerUserId, role: "owner", created_at })
      .execute();
    await insertWorkspace(trx, { workspaceId, organisationId, name: workspaceName }, change);
  });
}

/** Most workspaces per organisation. Decision: some operations visit all of them, so their number is bounded. */
export const MAX_WORKSPACES = 200;

/** Creates a workspace on the Solo plan, unless the organisation was deleted or has too many workspaces. */
export async function createWorkspace(
  db: CloudDatabase,
  fresh: { readonly workspaceId: string; readonly organisationId: string; readonly name: string },
  change: Change,
): Promise<"made" | "not_found" | "too_many_workspaces"> {
  const { organisationId, workspaceId } = fresh;
  return await inScope(db, { organisationId, workspaceId }, async (trx) => {
    if (!(await lockOrganisation(trx, organisationId))) return "not_found";
    if ((await workspacesOf(trx, organisationId)).length >= MAX_WORKSPACES) return "too_many_workspaces";
    await insertWorkspace(trx, fresh, change);
    return "made";
  });
}

async function insertWorkspace(
  trx: Transaction<CloudSchema>,
  fresh: { readonly workspaceId: string; readonly organisationId: string; readonly name: string },
  change: Change,
): Promise<void> {
  const { workspaceId: workspace_id, organisationId: organisation_id, name } = fresh;
  await trx
    .insertInto("workspaces")
    .values({ workspace_id, organisation_id, name, created_at: change.now })
    .execute();
  await addAuditEvent(trx, workspace_id, "workspace_created", change, { name });
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
  return await inScope(db, { organisationId }, async (trx) => {
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
    for (const workspaceId of await workspacesOf(trx, organisationId)) {
      await enterWorkspace(trx, workspaceId);
      if (role === null) await endMembership(trx, workspaceId, userId, change.now);
      if (role === "member") await revokeInvitationsBy(trx, workspaceId, userId, change.now);
      await addAuditEvent(trx, workspaceId, "organisation_role_changed", change, {
        user_id: userId,
        role,
        role_before: current.role,
      });
    }
    return "changed";
  });
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

/** Lists the workspaces in service of the organisation, which must be the transaction's scope. */
export async function workspacesOf(
  trx: Transaction<CloudSchema>,
  organisationId: string,
): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("workspaces")
    .select("workspace_id")
    .where("organisation_id", "=", organisationId)
    .where("deleted_at", "is", null)
    .orderBy("workspace_id")
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
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
  const { rows } = await sql`update memberships set removed_at = ${now}::timestamptz
    where workspace_id = ${workspaceId}::uuid and user_id = ${userId} and removed_at is null
    returning user_id`.execute(trx);
  return rows.length > 0;
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
}

/** Adds a person to an organisation as a member, unless they belong to it. A former owner or admin returns as a member. */
export async function joinOrganisation(
  trx: Transaction<CloudSchema>,
  organisationId: string,
  userId: string,
  now: Millis,
): Promise<void> {
  await enterOrganisation(trx, organisationId);
  await sql`insert into organisation_members as m (organisation_id, user_id, role, created_at)
    values (${organisationId}::uuid, ${userId}, 'member', ${now}::timestamptz)
    on conflict (organisation_id, user_id) do update
      set role = 'member', created_at = excluded.created_at, removed_at = null
      where m.removed_at is not null`.execute(trx);
}
