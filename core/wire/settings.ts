import * as v from "valibot";
import { findZone } from "../values/zone.ts";
import { identifier, instant, integer, maybe } from "./fields.ts";

/** Default of `data_retention_days`. Source: docs/specification.md#workspace-settings. */
export const DATA_RETENTION_DAYS_DEFAULT = 365;

/** Default of `audit_log_retention_days`. Source: docs/specification.md#workspace-settings. */
export const AUDIT_LOG_RETENTION_DAYS_DEFAULT = 365;

/** Maximum of both retention settings, in days. Source: docs/specification.md#reading: 1..3650. */
export const RETENTION_DAYS_MAX = 3650;

const days = integer(1, RETENTION_DAYS_MAX);

/** The response of `GET …/settings` and `PATCH …/settings`. */
export const settingsSchema = v.object({
  id: identifier,
  name: v.string(),
  plan: v.string(),
  store_prompt_content: v.boolean(),
  /** The zone of the days on pages and statements. Absent from older clouds. */
  reporting_zone: maybe(v.string()),
});

/** The settings of a workspace. */
export type Settings = v.InferOutput<typeof settingsSchema>;

/** An IANA name of a time zone that this runtime knows. */
const zone = v.pipe(
  v.string(),
  v.check((value) => findZone(value) !== null, "must be the name of a time zone, such as Europe/Berlin"),
);

/** The request of `PATCH …/settings`: either setting, or both. */
export const settingsPatchSchema = v.pipe(
  v.object({ store_prompt_content: v.optional(v.boolean()), reporting_zone: v.optional(zone) }),
  v.check((patch) => Object.keys(patch).length > 0, "must change something"),
);

/** The response of `GET …/settings/advanced`. Source: docs/specification.md#workspace-settings. */
export const advancedSettingsSchema = v.object({ data_retention_days: days, audit_log_retention_days: days });

/** The retention settings of a workspace. */
export type AdvancedSettings = v.InferOutput<typeof advancedSettingsSchema>;

/** The request of `PATCH …/settings/advanced`: either setting, or both. */
export const advancedSettingsPatchSchema = v.pipe(
  v.partial(advancedSettingsSchema),
  v.check((patch) => Object.keys(patch).length > 0, "must change something"),
);

/** The response of `DELETE /v1/workspaces/{ws}` and `DELETE /v1/account`. The data is erased after `purge_due_at`. */
export const deletionResponseSchema = v.object({ deleted_at: instant, purge_due_at: instant });

/** The time of a deletion, and when its data is erased. */
export type DeletionResponse = v.InferOutput<typeof deletionResponseSchema>;
