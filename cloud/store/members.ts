import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import { endMembership, revokeInvitationsBy } from "./organisations.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

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
    const { rows } = await sql<{ user_id: string; role: Member["role"]; via: Member["via"]; at: Millis }>`
      select o.user_id, 'admin' as role, 'organisation' as via, o.created_at as at
      from organisation_members o join workspaces w on w.organisation_id = o.organisation_id
      where w.workspace_id = ${workspaceId}::uuid and o.role in ('owner', 'admin') and o.removed_at is null
      union all
      select s.user_id, s.role, 'workspace' as via, s.created_at as at
      from memberships s join workspaces w on w.workspace_id = s.workspace_id
      where s.workspace_id = ${workspaceId}::uuid and s.removed_at is null
        and not exists (select from organisation_members o
          where o.organisation_id = w.organisation_id and o.user_id = s.user_id
            and o.role in ('owner', 'admin') and o.removed_at is null)
      order by at, user_id`.execute(trx);
    return rows.map(({ user_id, role, via, at }) => ({ userId: user_id, role, via, joinedAt: at }));
  });
}

/** Whether a person can access a workspace: as its member, or as owner or admin of its organisation. */
export async function reachesWorkspace(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
): Promise<boolean> {
  const { rows } = await sql<{ reaches: boolean }>`
    select exists (select from memberships
        where workspace_id = ${workspaceId}::uuid and user_id = ${userId} and removed_at is null)
      or exists (select from organisation_members o join workspaces w on w.organisation_id = o.organisation_id
        where w.workspace_id = ${workspaceId}::uuid and o.user_id = ${userId}
          and o.role in ('owner', 'admin') and o.removed_at is null) as reaches`.execute(trx);
  return rows[0]?.reaches === true;
}

/** Changes a member's role in the workspace; their role in the organisation stays. False if they are not a member. */
export async function changeMemberRole(
  db: CloudDatabase,
  workspaceId: string,
  userId: string,
  role: Member["role"],
  change: Change,
): Promise<boolean> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const current = await trx
      .selectFrom("memberships")
      .select("role")
      .where("workspace_id", "=", workspaceId)
      .where("user_id", "=", userId)
      .where("removed_at", "is", null)
      .forUpdate()
      .executeTakeFirst();
    if (current === undefined) return false;
    if (current.role === role) return true;
    await updateOne(
      trx
        .updateTable("memberships")
        .set({ role })
        .where("workspace_id", "=", workspaceId)
        .where("user_id", "=", userId),
    );
    if (role === "member") await revokeInvitationsBy(trx, workspaceId, userId, change.now);
    const details = { user_id: userId, role, role_before: current.role };
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
  return await inScope(db, { workspaceId }, async (trx) => {
    if (!(await endMembership(trx, workspaceId, userId, change.now))) return false;
    await addAuditEvent(trx, workspaceId, "member_removed", change, { user_id: userId });
    return true;
  });
}
