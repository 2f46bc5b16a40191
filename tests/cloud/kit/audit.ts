import type { CloudRig } from "./cloud-rig.ts";

/** Returns a workspace's audit events, the oldest first: kind, person and changes. */
export async function auditOf(
  rig: CloudRig,
  workspaceId: string,
): Promise<[kind: string, userId: string | null, details: Record<string, unknown>][]> {
  const rows = await rig.db
    .selectFrom("audit_events")
    .select(["kind", "actor_user_id", "details"])
    .where("workspace_id", "=", workspaceId)
    .orderBy("seq")
    .execute();
  return rows.map((row) => [row.kind, row.actor_user_id, row.details]);
}
