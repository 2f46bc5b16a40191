import type { Context } from "hono";
import {
  type AdvancedSettings,
  advancedSettingsPatchSchema,
  type Settings,
  settingsPatchSchema,
} from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { readSmallPayload } from "../../read-payload.ts";
import { changeSettings, type SettingsChange, type WorkspaceSettings } from "../../store/settings.ts";

/** `GET /v1/workspaces/{ws}/settings`. */
export function getSettings(context: Context<CloudEnv>): Response {
  const { workspaceId, name, plan, storePromptContent } = context.get("workspace");
  const answer: Settings = { id: workspaceId, name, plan, store_prompt_content: storePromptContent };
  return context.json(answer);
}

/** `PATCH /v1/workspaces/{ws}/settings`, by an admin: the gate for bodies. */
export async function patchSettings(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, settingsPatchSchema);
  if (!read.ok) return read.refusal;
  const after = await change(parts, context, "settings_changed", read.value);
  if (after === null) return problem("not_found");
  const { workspaceId, name } = context.get("workspace");
  const answer: Settings = {
    id: workspaceId,
    name,
    plan: after.plan,
    store_prompt_content: after.store_prompt_content,
  };
  return context.json(answer);
}

/** `GET /v1/workspaces/{ws}/settings/advanced`. Source: contract, "Endpoints". */
export function getAdvancedSettings(context: Context<CloudEnv>): Response {
  const { dataRetentionDays, auditLogRetentionDays } = context.get("workspace");
  const answer: AdvancedSettings = {
    data_retention_days: dataRetentionDays,
    audit_log_retention_days: auditLogRetentionDays,
  };
  return context.json(answer);
}

/** `PATCH /v1/workspaces/{ws}/settings/advanced`, by an admin: how far back queries reach. */
export async function patchAdvancedSettings(
  parts: CloudParts,
  context: Context<CloudEnv>,
): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, advancedSettingsPatchSchema);
  if (!read.ok) return read.refusal;
  const after = await change(parts, context, "advanced_settings_changed", read.value);
  if (after === null) return problem("not_found");
  const answer: AdvancedSettings = {
    data_retention_days: after.data_retention_days,
    audit_log_retention_days: after.audit_log_retention_days,
  };
  return context.json(answer);
}

async function change(
  parts: CloudParts,
  context: Context<CloudEnv>,
  kind: "settings_changed" | "advanced_settings_changed",
  patch: SettingsChange,
): Promise<WorkspaceSettings | null> {
  const by = { userId: context.get("actor").userId, now: parts.clock.now() };
  return await changeSettings(parts.db, context.get("workspace").workspaceId, kind, patch, by);
}
