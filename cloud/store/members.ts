import { sql } from "kysely";
import type { Millis } from "../../core/time.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import { endMembership, withdrawInvitations } from "./organisations.ts";
import { inScope } from "./transaction.ts";

/** Somebody who reaches a workspace. */
export interface Member {
  readonly userId: string;
  readonly role: "admin" | "member";
  /** `organisation`: by their role in it, whatever their membership says. */
  readonly via: "workspace" | "organisation";
  readonly joinedAt: Millis;
}

/** Everybody who reaches a workspace, the first to come first. */
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

/** Gives a member another role in the workspace. False where they are no member; a role by the organisation stays. */
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
    await trx
      .updateTable("memberships")
      .set({ role })
      .where("workspace_id", "=", workspaceId)
      .where("user_id", "=", userId)
      .execute();
    if (role === "member") await withdrawInvitations(trx, workspaceId, userId, change.now);
    const details = { user_id: userId, role, role_before: current.role };
    await addAuditEvent(trx, workspaceId, "member_role_changed", change, details);
    return true;
  });
}

/** Takes somebody out of the workspace; false where they are no member. They can be invited again. */
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
