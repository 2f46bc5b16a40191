import type { Plan } from "../../core/values/plan.ts";
import { updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/** A workspace's settings. */
export interface WorkspaceSettings {
  readonly store_prompt_content: boolean;
  readonly data_retention_days: number;
  readonly audit_log_retention_days: number;
  readonly plan: Plan;
  readonly reporting_zone: string;
}

/** The settings to change; omitted ones stay the same. */
export type SettingsChange = { readonly [K in keyof WorkspaceSettings]?: WorkspaceSettings[K] | undefined };

const COLUMNS = [
  "store_prompt_content",
  "data_retention_days",
  "audit_log_retention_days",
  "plan",
  "reporting_zone",
] as const;

/**
 * Changes some of a workspace's settings and records one audit event with their old and new values; without a change, there is
 * no event. Returns all settings after the change; null if the workspace is not in service.
 *
 * Locks the workspace's row, so that a body that is being stored is committed before the gate closes.
 */
export async function changeSettings(
  db: CloudDatabase,
  workspaceId: string,
  kind: "settings_changed" | "advanced_settings_changed" | "plan_changed",
  patch: SettingsChange,
  change: Change,
): Promise<WorkspaceSettings | null> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const before = await trx
      .selectFrom("workspaces")
      .select(COLUMNS)
      .where("workspace_id", "=", workspaceId)
      .where("deleted_at", "is", null)
      .forUpdate()
      .executeTakeFirst();
    if (before === undefined) return null;
    const changed = COLUMNS.filter(
      (column) => patch[column] !== undefined && patch[column] !== before[column],
    );
    if (changed.length === 0) return before;
    const after = { ...before, ...Object.fromEntries(changed.map((column) => [column, patch[column]])) };
    await updateOne(trx.updateTable("workspaces").set(after).where("workspace_id", "=", workspaceId));
    const details = changed.flatMap((column) => [
      [column, after[column]],
      [`${column}_before`, before[column]],
    ]);
    await addAuditEvent(trx, workspaceId, kind, change, Object.fromEntries(details));
    return after;
  });
}
