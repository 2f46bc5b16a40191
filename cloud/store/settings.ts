import type { Plan } from "../../core/plans/mod.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/** What of a workspace can be set. */
export interface WorkspaceSettings {
  readonly store_prompt_content: boolean;
  readonly data_retention_days: number;
  readonly audit_log_retention_days: number;
  readonly plan: Plan;
}

/** What is to be set; what is absent stays. */
export type SettingsChange = { readonly [K in keyof WorkspaceSettings]?: WorkspaceSettings[K] | undefined };

const COLUMNS = ["store_prompt_content", "data_retention_days", "audit_log_retention_days", "plan"] as const;

/**
 * Changes some of a workspace's settings, with one event that says what each was and became; what is set to what it is
 * changes nothing and is no event. Gives all settings as they then are; null where the workspace is not in service.
 *
 * Holds the workspace's row: a body that is being stored under the old gate is in before the gate goes off.
 */
export async function changeSettings(
  db: CloudDatabase,
  workspaceId: string,
  kind: "settings_changed" | "advanced_settings_changed" | "plan_changed",
  patch: SettingsChange,
  change: Change,
): Promise<WorkspaceSettings | null> {
  return await inScope(db, { workspaceId }, async (trx) => {
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
    await trx.updateTable("workspaces").set(after).where("workspace_id", "=", workspaceId).execute();
    const details = changed.flatMap((column) => [
      [column, after[column]],
      [`${column}_before`, before[column]],
    ]);
    await addAuditEvent(trx, workspaceId, kind, change, Object.fromEntries(details));
    return after;
  });
}
