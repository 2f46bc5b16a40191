import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/time.ts";
import type { CloudSchema } from "./schema.ts";

/** What can happen to a workspace that its audit log keeps. */
export type AuditEventKind =
  | "workspace_created"
  | "workspace_deleted"
  | "settings_changed"
  | "advanced_settings_changed"
  | "plan_changed"
  | "member_invited"
  | "invitation_revoked"
  | "member_joined"
  | "member_role_changed"
  | "member_removed"
  | "organisation_role_changed"
  | "machine_paired"
  | "machine_blocked"
  | "machine_invited"
  | "key_created"
  | "key_revoked";

/** Who changes something, and when. `userId` is null for the host's own administration. */
export interface Change {
  readonly userId: string | null;
  readonly now: Millis;
}

/**
 * Writes down a change, in the transaction that makes it, whose scope must be the workspace's: neither is there without
 * the other. `retain_until` follows from the workspace's setting of that moment; nothing acts on it.
 */
export async function addAuditEvent(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  kind: AuditEventKind,
  { userId, now }: Change,
  details: Readonly<Record<string, string | number | boolean | null>>,
): Promise<void> {
  await sql`insert into audit_events (workspace_id, event_id, at, kind, actor_user_id, details, retain_until)
    select workspace_id, gen_random_uuid(), ${now}::timestamptz, ${kind}, ${userId}::text,
      ${JSON.stringify(details)}::text::jsonb,
      ${now}::timestamptz + audit_log_retention_days * interval '1 day'
    from workspaces where workspace_id = ${workspaceId}::uuid`.execute(trx);
}
