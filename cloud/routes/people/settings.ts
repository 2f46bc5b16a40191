import type { AdvancedSettings, Settings } from "../../../core/wire/settings.ts";
import type { Actor } from "../../access/actor.ts";
import { problem } from "../../http/problem.ts";
import type { CloudParts } from "../../ports.ts";
import { changeSettings, type SettingsChange, type WorkspaceSettings } from "../../store/settings.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The routes of a workspace's settings. */
export const settingsHandlers = {
  "GET /v1/workspaces/:ws/settings": ({ workspace, answer }) =>
    answer(200, {
      ...toName(workspace),
      plan: workspace.plan,
      store_prompt_content: workspace.storePromptContent,
      reporting_zone: workspace.reportingZone,
    }),

  /** Opens or closes the gate for bodies, and sets the zone of days. */
  "PATCH /v1/workspaces/:ws/settings": async ({ parts, actor, workspace, body, answer }) => {
    const after = await change(parts, actor, workspace, "settings_changed", body);
    if (after === null) return problem("not_found");
    const { plan, store_prompt_content, reporting_zone } = after;
    return answer(200, { ...toName(workspace), plan, store_prompt_content, reporting_zone });
  },

  // Source: docs/specification.md#workspace-settings.
  "GET /v1/workspaces/:ws/settings/advanced": ({ workspace, answer }) =>
    answer(200, {
      data_retention_days: workspace.dataRetentionDays,
      audit_log_retention_days: workspace.auditLogRetentionDays,
    }),

  /** Changes how far back queries can go. */
  "PATCH /v1/workspaces/:ws/settings/advanced": async ({ parts, actor, workspace, body, answer }) => {
    const after = await change(parts, actor, workspace, "advanced_settings_changed", body);
    if (after === null) return problem("not_found");
    const { data_retention_days, audit_log_retention_days } = after;
    return answer(200, { data_retention_days, audit_log_retention_days } satisfies AdvancedSettings);
  },
} satisfies Partial<ApiHandlers>;

const toName = ({ workspaceId, name }: WorkspaceAccess): Pick<Settings, "id" | "name"> => ({
  id: workspaceId,
  name,
});

async function change(
  { db, clock }: CloudParts,
  { userId }: Actor,
  { workspaceId }: WorkspaceAccess,
  kind: "settings_changed" | "advanced_settings_changed",
  patch: SettingsChange,
): Promise<WorkspaceSettings | null> {
  return await changeSettings(db, workspaceId, kind, patch, { userId, now: clock.now() });
}
