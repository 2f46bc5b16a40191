import type { Transaction } from "kysely";
import { decideAccountDeletion, softDelete } from "../../core/deletion/mod.ts";
import type { Millis } from "../../core/time.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import { endMembership, holdOrganisation, workspacesOf } from "./organisations.ts";
import type { CloudSchema } from "./schema.ts";
import { enterOrganisation, enterWorkspace, inScope } from "./transaction.ts";

/** Deletes a workspace softly; gives when, or null where it is not in service. Nothing is removed. */
export async function deleteWorkspace(
  db: CloudDatabase,
  workspaceId: string,
  change: Change,
): Promise<Millis | null> {
  return await inScope(db, { workspaceId }, (trx) => stampWorkspace(trx, workspaceId, change));
}

async function stampWorkspace(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  change: Change,
): Promise<Millis | null> {
  const { deletedAt } = softDelete({ deletedAt: null }, change.now);
  const deleted = await trx
    .updateTable("workspaces")
    .set({ deleted_at: deletedAt })
    .where("workspace_id", "=", workspaceId)
    .where("deleted_at", "is", null)
    .returning("name")
    .executeTakeFirst();
  if (deleted === undefined) return null;
  await addAuditEvent(trx, workspaceId, "workspace_deleted", change, { name: deleted.name });
  return deletedAt;
}

/** What became of an account's place in the cloud. */
export type AccountLeaving =
  | { readonly ok: true }
  | { readonly ok: false; readonly organisations: readonly string[] };

/**
 * Takes a person out of every organisation and workspace, and deletes softly the organisations that were theirs alone. Not
 * while others would be left without an owner. All or nothing; run again, it does what is left.
 */
export async function leaveEverything(
  db: CloudDatabase,
  userId: string,
  now: Millis,
): Promise<AccountLeaving> {
  const change = { userId, now };
  return await inScope(db, { userId }, async (trx) => {
    const own = await trx
      .selectFrom("organisation_members")
      .select(["organisation_id", "role"])
      .where("user_id", "=", userId)
      .where("removed_at", "is", null)
      // One order for all, so that two who leave at once wait for each other.
      .orderBy("organisation_id")
      .execute();
    const standings = [];
    for (const { organisation_id: organisationId } of own) {
      await enterOrganisation(trx, organisationId);
      await holdOrganisation(trx, organisationId);
      const members = await activeMembers(trx, organisationId);
      const others = members.filter((member) => member.user_id !== userId);
      standings.push({
        organisationId,
        isOwner: members.some((member) => member.user_id === userId && member.role === "owner"),
        otherOwners: others.filter(({ role }) => role === "owner").length,
        otherMembers: others.length,
      });
    }
    const verdict = decideAccountDeletion(standings);
    if (!verdict.ok) return { ok: false, organisations: verdict.organisations };
    for (const { organisationId } of standings) {
      await enterOrganisation(trx, organisationId);
      await leaveOrganisation(
        trx,
        organisationId,
        verdict.deletesOrganisations.includes(organisationId),
        change,
      );
    }
    for (const workspaceId of await ownWorkspaces(trx, userId)) {
      await enterWorkspace(trx, workspaceId);
      await endMembership(trx, workspaceId, userId, now);
      await addAuditEvent(trx, workspaceId, "member_removed", change, { user_id: userId });
    }
    return { ok: true };
  });
}

async function activeMembers(trx: Transaction<CloudSchema>, organisationId: string) {
  return await trx
    .selectFrom("organisation_members")
    .select(["user_id", "role"])
    .where("organisation_id", "=", organisationId)
    .where("removed_at", "is", null)
    .execute();
}

async function leaveOrganisation(
  trx: Transaction<CloudSchema>,
  organisationId: string,
  deletes: boolean,
  change: Change & { readonly userId: string },
): Promise<void> {
  for (const workspaceId of await workspacesOf(trx, organisationId)) {
    await enterWorkspace(trx, workspaceId);
    if (deletes) await stampWorkspace(trx, workspaceId, change);
    else {
      const details = { user_id: change.userId, role: null };
      await addAuditEvent(trx, workspaceId, "organisation_role_changed", change, details);
    }
    // Also of those who reach it by the organisation alone: they may have made admin keys there.
    await endMembership(trx, workspaceId, change.userId, change.now);
  }
  if (deletes) {
    await trx
      .updateTable("organisations")
      .set({ deleted_at: change.now })
      .where("organisation_id", "=", organisationId)
      .execute();
  }
  await trx
    .updateTable("organisation_members")
    .set({ removed_at: change.now })
    .where("organisation_id", "=", organisationId)
    .where("user_id", "=", change.userId)
    .execute();
}

async function ownWorkspaces(trx: Transaction<CloudSchema>, userId: string): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("memberships")
    .select("workspace_id")
    .where("user_id", "=", userId)
    .where("removed_at", "is", null)
    .orderBy("workspace_id")
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
}
