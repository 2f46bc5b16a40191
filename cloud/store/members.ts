import type { Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import { endMembership, lockMembership, readOrganisationRole, revokeInvitationsBy } from "./organisations.ts";
import type { CloudSchema } from "./schema.ts";
import { enterOrganisation, inScope } from "./transaction.ts";

/** A person who can access a workspace. */
export interface Member {
  readonly userId: string;
  readonly role: "admin" | "member";
  /** `organisation`: by their role as owner or admin of the organisation, which overrides a membership. */
  readonly via: "workspace" | "organisation";
  readonly joinedAt: Millis;
}

/** Lists everyone who can access a workspace, in the order they joined. */
export async function listMembers(db: CloudDatabase, workspaceId: string): Promise<readonly Member[]> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const own = await trx
      .selectFrom("memberships")
      .select(["user_id", "role", "created_at"])
      .where("workspace_id", "=", workspaceId)
      .where("removed_at", "is", null)
      .execute();
    const members = new Map(own.map((row) => [row.user_id, toMember(row, row.role, "workspace")]));
    for (const row of await organisationAdmins(trx, workspaceId)) {
      members.set(row.user_id, toMember(row, "admin", "organisation"));
    }
    return [...members.values()].sort(
      (one, other) => one.joinedAt - other.joinedAt || (one.userId < other.userId ? -1 : 1),
    );
  });
}

function toMember(
  { user_id: userId, created_at: joinedAt }: { readonly user_id: string; readonly created_at: Millis },
  role: Member["role"],
  via: Member["via"],
): Member {
  return { userId, role, via, joinedAt };
}

/** Reads the owners and admins of a workspace's organisation, which becomes the transaction's scope. */
async function organisationAdmins(trx: Transaction<CloudSchema>, workspaceId: string) {
  const organisationId = await organisationOf(trx, workspaceId);
  if (organisationId === null) return [];
  await enterOrganisation(trx, organisationId);
  return await trx
    .selectFrom("organisation_members")
    .select(["user_id", "created_at"])
    .where("organisation_id", "=", organisationId)
    .where("role", "in", ["owner", "admin"])
    .where("removed_at", "is", null)
    .execute();
}

async function organisationOf(trx: Transaction<CloudSchema>, workspaceId: string): Promise<string | null> {
  const row = await trx
    .selectFrom("workspaces")
    .select("organisation_id")
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
  return row?.organisation_id ?? null;
}

/** Returns a person's role as a member of a workspace; null if they are none. */
export async function readMembershipRole(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
): Promise<Member["role"] | null> {
  const row = await trx
    .selectFrom("memberships")
    .select("role")
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  return row?.role ?? null;
}

/** Whether a person can access a workspace: as its member, or as owner or admin of its organisation. */
export async function reachesWorkspace(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
): Promise<boolean> {
  if ((await readMembershipRole(trx, workspaceId, userId)) !== null) return true;
  const organisationId = await organisationOf(trx, workspaceId);
  if (organisationId === null) return false;
  const role = await readOrganisationRole(trx, organisationId, userId);
  return role === "owner" || role === "admin";
}

/** Changes a member's role in the workspace; their role in the organisation stays. False if they are not a member. */
export async function changeMemberRole(
  db: CloudDatabase,
  workspaceId: string,
  userId: string,
  role: Member["role"],
  change: Change,
): Promise<boolean> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const roleBefore = await lockMembership(trx, workspaceId, userId);
    if (roleBefore === null) return false;
    if (roleBefore === role) return true;
    await updateOne(
      trx
        .updateTable("memberships")
        .set({ role })
        .where("workspace_id", "=", workspaceId)
        .where("user_id", "=", userId),
    );
    if (role === "member") await revokeInvitationsBy(trx, workspaceId, userId, change.now);
    const details = { user_id: userId, role, role_before: roleBefore };
    await addAuditEvent(trx, workspaceId, "member_role_changed", change, details);
    return true;
  });
}

/** Removes a member from the workspace; they can be invited again. False if they are not a member. */
export async function removeMember(
  db: CloudDatabase,
  workspaceId: string,
  userId: string,
  change: Change,
): Promise<boolean> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    // Owners and admins of the organisation who are no members here keep their keys and invitations.
    if ((await lockMembership(trx, workspaceId, userId)) === null) return false;
    await endMembership(trx, workspaceId, userId, change.now);
    await addAuditEvent(trx, workspaceId, "member_removed", change, { user_id: userId });
    return true;
  });
}
