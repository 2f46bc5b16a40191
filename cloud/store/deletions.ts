import type { Transaction } from "kysely";
import { decideAccountDeletion, softDelete } from "../../core/privacy/deletion/soft-deletion.ts";
import type { Millis } from "../../core/values/time.ts";
import { updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import {
  activeMembers,
  endMembership,
  lockOrganisation,
  revokeKeysOf,
  workspacesOf,
} from "./organisations.ts";
import type { CloudSchema } from "./schema.ts";
import { enterOrganisation, enterWorkspace, inScope } from "./transaction.ts";

/** Soft-deletes a workspace. Returns the time of deletion, or null if it is not in service. The purge erases it when it is due. */
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

/** The result of leaving all organisations. If not `ok`, lists those that would be left without an owner. */
export type AccountLeaving =
  | { readonly ok: true }
  | { readonly ok: false; readonly organisations: readonly string[] };

/**
 * Removes a person from every organisation and workspace, and soft-deletes the organisations that have no other members.
 * Refused while an organisation with other members would be left without an owner. One transaction; safe to repeat.
 */
export async function leaveAllOrganisations(
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
      // A fixed lock order, so that two people who leave at once do not deadlock.
      .orderBy("organisation_id")
      .execute();
    const standings = [];
    for (const { organisation_id: organisationId } of own) {
      await enterOrganisation(trx, organisationId);
      await lockOrganisation(trx, organisationId);
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
    await trx
      .insertInto("account_deletions")
      .values({ user_id: userId, deleted_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await endApprovals(trx, userId, now);
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
      // So that the person's machines can send nothing more.
      await revokeKeysOf(trx, workspaceId, userId, ["sync", "admin"], now);
      await addAuditEvent(trx, workspaceId, "member_removed", change, { user_id: userId });
    }
    return { ok: true };
  });
}

/** Denies the pairings that the person approved and no daemon has fetched yet. */
async function endApprovals(trx: Transaction<CloudSchema>, userId: string, now: Millis): Promise<void> {
  await trx
    .updateTable("pairing_sessions")
    .set({ status: "denied", decided_at: now })
    .where(({ eb, or }) => or([eb("user_id", "=", userId), eb("decided_by", "=", userId)]))
    .where("status", "=", "approved")
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
    // Also without a membership: an owner or admin of the organisation may have created admin keys here.
    await endMembership(trx, workspaceId, change.userId, change.now);
    await revokeKeysOf(trx, workspaceId, change.userId, ["sync", "admin"], change.now);
    if (deletes) await stampWorkspace(trx, workspaceId, change);
    else {
      const details = { user_id: change.userId, role: null };
      await addAuditEvent(trx, workspaceId, "organisation_role_changed", change, details);
    }
  }
  if (deletes) {
    await updateOne(
      trx
        .updateTable("organisations")
        .set({ deleted_at: change.now })
        .where("organisation_id", "=", organisationId),
    );
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

/** Returns which of these people deleted their accounts. Their prompts can no longer be read. */
export async function findDeletedAccounts(
  trx: Transaction<CloudSchema>,
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (userIds.length === 0) return new Set();
  const rows = await trx
    .selectFrom("account_deletions")
    .select("user_id")
    .where("user_id", "in", [...new Set(userIds)])
    .execute();
  return new Set(rows.map(({ user_id }) => user_id));
}
