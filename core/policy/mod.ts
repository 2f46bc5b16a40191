/**
 * What leaves the machine: a preset, overrides field by field and rules by project turn a local record into the outgoing
 * one. Prompts, completions and the hash of an error's message have no field there, so that no setting can send them.
 *
 * ```ts
 * import { isFieldSent, sentFields } from "./mod.ts";
 *
 * const policy = { preset: "standard", fields: { source_workdir: false, path: true }, perProject: {} } as const;
 * isFieldSent("path", policy); // true: the override wins
 * isFieldSent("method", policy); // false: only `full` sends it
 * sentFields({ ...policy, preset: "minimal" }).includes("prompt_hash"); // false
 * ```
 *
 * @module
 */
export { type LocalRecord, type OutgoingRecord, toErrorClass, toOutgoingRecord } from "./outgoing-record.ts";
export {
  CLOCK_SKEW_MAX_MS,
  isClockSkewed,
  type ReceivedRecord,
  toReceivedRecord,
} from "./received-record.ts";
export {
  isFieldSent,
  isLocalOnly,
  isOverridableField,
  sentFields,
  UPLOAD_FIELDS,
  UPLOAD_PRESET_DEFAULT,
  UPLOAD_PRESETS,
  type UploadField,
  type UploadPolicy,
  type UploadPreset,
} from "./upload-policy.ts";
