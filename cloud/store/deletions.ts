import type { Transaction } from "kysely";
import { decideAccountDeletion, softDelete } from "../../core/privacy/deletion/soft-deletion.ts";
import type { Millis } from "../../core/values/time.ts";
import { updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change, hasAuditEvent } from "./audit-events.ts";
import { markDeleted, workspacesOf, workspacesOfMember } from "./directory.ts";
import type { CloudDatabase } from "./open-database.ts";
import { activeMembers, endMembership, lockOrganisation, revokeKeysOf } from "./organisations.ts";
import { lockPerson } from "./people.ts";
import type { CloudSchema } from "./schema.ts";
import { addRandomTask, addTask, endTask, RESUME_AFTER_MS, type Task } from "./tasks.ts";
import { enterOrganisation, inScope } from "./transaction.ts";

/** Soft-deletes a workspace. Returns the time of deletion, or null if it is not in service. The purge erases it when it is due. */
export async function deleteWorkspace(
  db: CloudDatabase,
  workspaceId: string,
  change: Change,
): Promise<Millis | null> {
  const deletedAt = softDelete({ deletedAt: null }, change.now).deletedAt;
  const task = await inScope(db, { workspaceId }, async (trx) => {
    if (!(await markDeleted(trx, workspaceId, deletedAt))) return null;
    return await addTask(trx, "delete_workspace", workspaceId, { change }, change.now + RESUME_AFTER_MS);
  });
  if (task === null) return null;
  await finishDeletion(db, task);
  return deletedAt;
}

/** Deletes the workspace of a task, unless an earlier run did. */
export async function finishDeletion(db: CloudDatabase, task: Task<"delete_workspace">): Promise<void> {
  const { taskId: workspaceId, details } = task;
  await inScope(db, { workspaceId, readsThenWrites: true }, (trx) =>
    stampWorkspace(trx, workspaceId, details.change),
  );
  await endTask(db, task);
}

async function stampWorkspace(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  change: Change,
): Promise<void> {
  const { deletedAt } = softDelete({ deletedAt: null }, change.now);
  const workspace = await trx
    .selectFrom("workspaces")
    .select("name")
    .where("workspace_id", "=", workspaceId)
    .where("deleted_at", "is", null)
    .forUpdate()
    .executeTakeFirst();
  // Deleted by an earlier run, or not created yet: then it is created as deleted.
  if (workspace === undefined) return;
  await updateOne(
    trx.updateTable("workspaces").set({ deleted_at: deletedAt }).where("workspace_id", "=", workspaceId),
  );
  await addAuditEvent(trx, workspaceId, "workspace_deleted", change, { name: workspace.name });
}

/** The result of leaving all organisations. If not `ok`, lists those that would be left without an owner. */
export type AccountLeaving =
  | { readonly ok: true }
  | { readonly ok: false; readonly organisations: readonly string[] };

/**
 * Removes a person from every organisation and workspace, and soft-deletes the organisations that have no other members.
 * Refused while an organisation with other members would be left without an owner. Safe to repeat.
 */
export async function leaveAllOrganisations(
  db: CloudDatabase,
  userId: string,
  now: Millis,
): Promise<AccountLeaving> {
  const begun = await inScope(db, { userId }, async (trx) => {
    // An organisation that is being created is left too, and no later one is created.
    await lockPerson(trx, userId, now);
    const standings = await lockStandings(trx, userId);
    const verdict = decideAccountDeletion(standings);
    if (!verdict.ok) return { organisations: verdict.organisations };
    await trx
      .insertInto("account_deletions")
      .values({ user_id: userId, deleted_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await endApprovals(trx, userId, now);
    const organisations = [];
    for (const { organisationId } of standings) {
      await enterOrganisation(trx, organisationId);
      const isDeleted = verdict.deletesOrganisations.includes(organisationId);
      const workspaceIds = await workspacesOf(trx, organisationId);
      organisations.push({ isDeleted, workspaceIds });
      if (isDeleted) await deleteOrganisation(trx, organisationId, workspaceIds, now);
      await endRole(trx, organisationId, userId, now);
    }
    const details = { userId, organisations, workspaceIds: await workspacesOfMember(trx, userId), now };
    return await addRandomTask(trx, "leave_organisations", details, now + RESUME_AFTER_MS);
  });
  if ("organisations" in begun) return { ok: false, organisations: begun.organisations };
  await finishLeaving(db, begun);
  return { ok: true };
}

/** Locks the person's organisations, and counts the owners and members that each has without them. */
async function lockStandings(trx: Transaction<CloudSchema>, userId: string) {
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
  return standings;
}

/** Ends the person's access to each workspace, unless an earlier run did. */
export async function finishLeaving(db: CloudDatabase, task: Task<"leave_organisations">): Promise<void> {
  const { userId, organisations, workspaceIds, now } = task.details;
  const change = { userId, now };
  const left = new Set<string>();
  for (const { isDeleted, workspaceIds: ids } of organisations) {
    for (const workspaceId of ids) {
      left.add(workspaceId);
      await inScope(db, { workspaceId }, async (trx) => {
        // Also without a membership: an owner or admin of the organisation may have created admin keys here.
        await endMembership(trx, workspaceId, userId, now);
        await revokeKeysOf(trx, workspaceId, userId, ["sync", "admin"], now);
        if (isDeleted) return await stampWorkspace(trx, workspaceId, change);
        if (await hasAuditEvent(trx, workspaceId, task.taskId)) return;
        const details = { user_id: userId, role: null };
        await addAuditEvent(trx, workspaceId, "organisation_role_changed", change, details, task.taskId);
      });
    }
  }
  for (const workspaceId of workspaceIds.filter((id) => !left.has(id))) {
    await inScope(db, { workspaceId }, async (trx) => {
      const wasMember = await endMembership(trx, workspaceId, userId, now);
      // So that the person's machines can send nothing more.
      await revokeKeysOf(trx, workspaceId, userId, ["sync", "admin"], now);
      if (wasMember) await addAuditEvent(trx, workspaceId, "member_removed", change, { user_id: userId });
    });
  }
  await endTask(db, task);
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

async function deleteOrganisation(
  trx: Transaction<CloudSchema>,
  organisationId: string,
  workspaceIds: readonly string[],
  now: Millis,
): Promise<void> {
  for (const workspaceId of workspaceIds) await markDeleted(trx, workspaceId, now);
  await updateOne(
    trx.updateTable("organisations").set({ deleted_at: now }).where("organisation_id", "=", organisationId),
  );
}

async function endRole(
  trx: Transaction<CloudSchema>,
  organisationId: string,
  userId: string,
  now: Millis,
): Promise<void> {
  await updateOne(
    trx
      .updateTable("organisation_members")
      .set({ removed_at: now })
      .where("organisation_id", "=", organisationId)
      .where("user_id", "=", userId),
  );
}
