import * as v from "valibot";
import { identifier, instant, integer } from "./fields.ts";

/** Default of `data_retention_days`. Source: contract, "Workspace". */
export const DATA_RETENTION_DAYS_DEFAULT = 365;

/** Default of `audit_log_retention_days`. Source: contract, "Workspace". */
export const AUDIT_LOG_RETENTION_DAYS_DEFAULT = 365;

/** Most days of either. Source: decisions, "Reading": 1..3650. */
export const RETENTION_DAYS_MAX = 3650;

const days = integer(1, RETENTION_DAYS_MAX);

/** `GET` and the answer to `PATCH …/settings`. */
export const settingsSchema = v.object({
  id: identifier,
  name: v.string(),
  plan: v.string(),
  store_prompt_content: v.boolean(),
});

/** A workspace's settings. */
export type Settings = v.InferOutput<typeof settingsSchema>;

/** `PATCH …/settings`. */
export const settingsPatchSchema = v.object({ store_prompt_content: v.boolean() });

/** A change of settings. */
export type SettingsPatch = v.InferOutput<typeof settingsPatchSchema>;

/** `GET …/settings/advanced`. Source: contract, "Endpoints". */
export const advancedSettingsSchema = v.object({ data_retention_days: days, audit_log_retention_days: days });

/** How far back queries reach. */
export type AdvancedSettings = v.InferOutput<typeof advancedSettingsSchema>;

/** `PATCH …/settings/advanced`: one of the two, or both. */
export const advancedSettingsPatchSchema = v.pipe(
  v.partial(advancedSettingsSchema),
  v.check((patch) => Object.keys(patch).length > 0, "must change something"),
);

/** A change of the advanced settings. */
export type AdvancedSettingsPatch = v.InferOutput<typeof advancedSettingsPatchSchema>;

/** The answer to `DELETE /v1/workspaces/{ws}` and `DELETE /v1/account`: nothing purges, the date is only shown. */
export const deletionAnswerSchema = v.object({ deleted_at: instant, purge_due_at: instant });

/** When something was deleted. */
export type DeletionAnswer = v.InferOutput<typeof deletionAnswerSchema>;
