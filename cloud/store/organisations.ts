import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/time.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { enterOrganisation, enterWorkspace, inScope } from "./transaction.ts";

/** How somebody stands in an organisation. */
export type OrganisationRole = "owner" | "admin" | "member";

/** An organisation as its member stands in it. */
export interface OrganisationAccess {
  readonly organisationId: string;
  readonly name: string;
  readonly role: OrganisationRole;
}

/** The organisations of a person, by name. */
export async function listOrganisations(
  db: CloudDatabase,
  userId: string,
): Promise<readonly OrganisationAccess[]> {
  const rows = await inScope(db, { userId }, (trx) => ownOrganisations(trx, userId).execute());
  return rows.map(({ organisation_id, name, role }) => ({ organisationId: organisation_id, name, role }));
}

function ownOrganisations(trx: Transaction<CloudSchema>, userId: string) {
  return trx
    .selectFrom("organisation_members as m")
    .innerJoin("organisations as o", "o.organisation_id", "m.organisation_id")
    .select(["o.organisation_id", "o.name", "m.role"])
    .where("m.user_id", "=", userId)
    .where("m.removed_at", "is", null)
    .where("o.deleted_at", "is", null)
    .orderBy("o.name");
}

/** An organisation as a person stands in it; null where they do not, it was deleted, or there is none. */
export async function findOrganisationAccess(
  db: CloudDatabase,
  userId: string,
  organisationId: string,
): Promise<OrganisationAccess | null> {
  const all = await listOrganisations(db, userId);
  return all.find((one) => one.organisationId === organisationId) ?? null;
}

/** Makes an organisation with its owner and a first workspace. */
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

/** Most workspaces of an organisation. Decision: as for organisations; what looks into all of them takes as long. */
export const MAX_WORKSPACES = 200;

/** Makes a workspace, on the plan solo, unless the organisation is not in service or has too many already. */
export async function createWorkspace(
  db: CloudDatabase,
  fresh: { readonly workspaceId: string; readonly organisationId: string; readonly name: string },
  change: Change,
): Promise<"made" | "not_found" | "too_many_workspaces"> {
  const { organisationId, workspaceId } = fresh;
  return await inScope(db, { organisationId, workspaceId }, async (trx) => {
    if (!(await holdOrganisation(trx, organisationId))) return "not_found";
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
 * Holds an organisation's row to the end of the transaction, whose scope must be the organisation's: of two changes of its
 * people, each sees what the other left. False where it is not in service.
 */
export async function holdOrganisation(
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

/** Who belongs to an organisation, the first to come first. */
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
 * Gives a member of an organisation another role, or with null takes them out of it and of all its workspaces. The change
 * is an event in each workspace, since it reaches into each. An organisation never loses its last owner.
 */
export async function changeOrganisationRole(
  db: CloudDatabase,
  organisationId: string,
  userId: string,
  role: OrganisationRole | null,
  change: Change,
): Promise<"changed" | "not_found" | "last_owner"> {
  return await inScope(db, { organisationId }, async (trx) => {
    if (!(await holdOrganisation(trx, organisationId))) return "not_found";
    const members = await trx
      .selectFrom("organisation_members")
      .select(["user_id", "role"])
      .where("organisation_id", "=", organisationId)
      .where("removed_at", "is", null)
      .execute();
    const current = members.find((member) => member.user_id === userId);
    if (current === undefined) return "not_found";
    if (current.role === role) return "changed";
    const owners = members.filter((member) => member.role === "owner");
    if (current.role === "owner" && owners.length === 1) return "last_owner";
    await trx
      .updateTable("organisation_members")
      .set(role === null ? { removed_at: change.now } : { role })
      .where("organisation_id", "=", organisationId)
      .where("user_id", "=", userId)
      .execute();
    for (const workspaceId of await workspacesOf(trx, organisationId)) {
      await enterWorkspace(trx, workspaceId);
      if (role === null) await endMembership(trx, workspaceId, userId, change.now);
      if (role === "member") await withdrawInvitations(trx, workspaceId, userId, change.now);
      await addAuditEvent(trx, workspaceId, "organisation_role_changed", change, {
        user_id: userId,
        role,
        role_before: current.role,
      });
    }
    return "changed";
  });
}

/** The workspaces in service of the organisation that the transaction is scoped to. */
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
 * Ends a membership and the person's admin keys and invitations there, in a transaction of that workspace. Their sync keys stay: they
 * answer 403 while their owner is out, and go on when the owner is invited again. True where there was a membership.
 */
export async function endMembership(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
  now: Millis,
): Promise<boolean> {
  await trx
    .updateTable("sync_keys")
    .set({ revoked_at: now })
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .where("scope", "=", "admin")
    .where("revoked_at", "is", null)
    .execute();
  await withdrawInvitations(trx, workspaceId, userId, now);
  const { rows } = await sql`update memberships set removed_at = ${now}::timestamptz
    where workspace_id = ${workspaceId}::uuid and user_id = ${userId} and removed_at is null
    returning user_id`.execute(trx);
  return rows.length > 0;
}

/** Takes back what somebody invited to a workspace while they ran it, so that no back door of theirs stays open. */
export async function withdrawInvitations(
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

/** Makes somebody a member of an organisation, unless they are; who comes back comes back as a member, whatever they were. */
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
