import { type RecordFields, type WireField, wireFields } from "../../values/record-fields.ts";
import type { MetadataRecord } from "../../wire/metadata-record.ts";

/** How much of a record leaves the machine. Source: docs/specification.md#configuration-keys. */
export type UploadPreset = "minimal" | "standard" | "full";

/** The presets. Each includes the fields of the previous one. */
export const UPLOAD_PRESETS = ["minimal", "standard", "full"] as const satisfies readonly UploadPreset[];

/** The default of `[cloud.upload] preset`. Source: docs/specification.md#configuration-keys. */
export const UPLOAD_PRESET_DEFAULT: UploadPreset = "standard";

/** The project of the calls that self-tests make. It is always local-only. */
export const SELF_TEST_PROJECT = "meter-self-test";

/** A field of the outgoing record. */
export type UploadField = keyof MetadataRecord;

/** How much must be sent for each field, from the smallest amount. */
const LEVELS = ["required", ...UPLOAD_PRESETS] as const;

type UploadFields = {
  readonly [Name in keyof RecordFields as Name extends WireField
    ? RecordFields[Name]["column"]
    : never]: Exclude<RecordFields[Name]["upload"], "never">;
};

/**
 * The smallest preset that sends each field, in the order of the presets. `required` fields are sent with every record.
 * Source: docs/specification.md#request-record. Decision: the source of a cost is both how it was computed and whose rates it
 * used.
 */
export const UPLOAD_FIELDS: UploadFields = Object.fromEntries(
  LEVELS.flatMap((level) =>
    wireFields.filter(({ upload }) => upload === level).map(({ column }) => [column, level] as const),
  ),
) as unknown as UploadFields;

/** The configured upload of metadata, from `core/operations/config`. */
export interface UploadPolicy {
  readonly preset: UploadPreset;
  /** By field: `true` sends it, `false` withholds it, absent follows the preset. Unknown and required names have no effect. */
  readonly fields: Readonly<Record<string, boolean>>;
  /** By project slug: `false` makes the project local-only, regardless of other settings. */
  readonly perProject: Readonly<Record<string, boolean>>;
}

/**
 * What is sent besides records, with the smallest preset that sends it. `field.<name>` switches it, as it does for a field of records.
 */
const MACHINE_FIELD_LEVELS = { limit_readings: "full", coverage: "standard" } as const satisfies Record<
  string,
  UploadPreset
>;

/** The name of something that is sent besides records. */
export type MachineField = keyof typeof MACHINE_FIELD_LEVELS;

/** The names of everything that is sent besides records. */
export const MACHINE_FIELDS = Object.keys(MACHINE_FIELD_LEVELS) as readonly MachineField[];

/** Whether a name is one of `MACHINE_FIELDS`. */
export const isMachineField = (name: string): name is MachineField =>
  Object.hasOwn(MACHINE_FIELD_LEVELS, name);

/**
 * Whether one of `MACHINE_FIELDS` leaves this machine. An override takes precedence over the preset.
 *
 * Decision: the coverage counts calls of all projects together, so it is held back while any project is local-only.
 */
export function isMachineFieldSent(
  name: MachineField,
  { preset, fields, perProject }: UploadPolicy,
): boolean {
  if (Object.hasOwn(fields, name)) return fields[name] === true;
  if (name === "coverage" && Object.values(perProject).includes(false)) return false;
  return UPLOAD_PRESETS.indexOf(MACHINE_FIELD_LEVELS[name]) <= UPLOAD_PRESETS.indexOf(preset);
}

/** Whether a field can be overridden by `field.<name>`. */
export function isOverridableField(name: string): boolean {
  if (isMachineField(name)) return true;
  if (name === "prompt_hash_kind") return false;
  return Object.hasOwn(UPLOAD_FIELDS, name) && UPLOAD_FIELDS[name as UploadField] !== "required";
}

/** Whether a project's metadata and bodies stay on this machine. */
export function isLocalOnly(project: string, policy: UploadPolicy): boolean {
  if (project === SELF_TEST_PROJECT) return true;
  return Object.hasOwn(policy.perProject, project) && policy.perProject[project] === false;
}

/** Whether a field is sent. An override wins over the preset. */
export function isFieldSent(field: UploadField, policy: UploadPolicy): boolean {
  // The kind is meaningless without the hash, and the hash would be misread without the kind.
  if (field === "prompt_hash_kind") return isFieldSent("prompt_hash", policy);
  const level = UPLOAD_FIELDS[field];
  if (level === "required") return true;
  if (Object.hasOwn(policy.fields, field)) return policy.fields[field] === true;
  return UPLOAD_PRESETS.indexOf(level) <= UPLOAD_PRESETS.indexOf(policy.preset);
}

/** Creates a policy that sends exactly these fields of every project, so that a record can be sent again as it was. */
export function createPolicyForFields(sent: readonly string[]): UploadPolicy {
  const fields = Object.keys(UPLOAD_FIELDS).map((field) => [field, sent.includes(field)] as const);
  return { preset: "minimal", fields: Object.fromEntries(fields), perProject: {} };
}

/** Returns the fields that are sent, for `meter cloud privacy show`. */
export function sentFields(policy: UploadPolicy): readonly UploadField[] {
  return (Object.keys(UPLOAD_FIELDS) as UploadField[]).filter((field) => isFieldSent(field, policy));
}
