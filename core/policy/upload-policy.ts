import type { MetadataRecord } from "../wire/mod.ts";

/** How much of a record leaves the machine. Source: contract, "Local daemon configuration keys". */
export type UploadPreset = "minimal" | "standard" | "full";

/** The presets, each holding what the one before holds. */
export const UPLOAD_PRESETS = ["minimal", "standard", "full"] as const satisfies readonly UploadPreset[];

/** The default of `[cloud.upload] preset`. Source: contract, "Local daemon configuration keys". */
export const UPLOAD_PRESET_DEFAULT: UploadPreset = "standard";

/** A field of the outgoing record. */
export type UploadField = keyof MetadataRecord;

/**
 * The smallest preset that sends each field; `required` fields go out with every record. Source: decisions, "Metadata
 * batch". Decision: the source of a cost is both how it was found and whose rates it used.
 */
export const UPLOAD_FIELDS = {
  request_id: "required",
  requested_at: "required",
  provider: "required",
  model: "required",
  prompt_tokens: "minimal",
  completion_tokens: "minimal",
  cache_read_tokens: "minimal",
  cache_write_tokens: "minimal",
  cache_write_1h_tokens: "minimal",
  thinking_tokens: "minimal",
  tokens_complete: "minimal",
  cost_usd_minor_units: "minimal",
  cost_pico_usd: "minimal",
  cost_source: "minimal",
  rates_source: "minimal",
  project: "minimal",
  requested_model: "standard",
  request_kind: "standard",
  streaming: "standard",
  provider_cost_pico_usd: "standard",
  service_tier: "standard",
  usage_extras: "standard",
  latency_ms: "standard",
  ttfb_ms: "standard",
  http_status: "standard",
  error_class: "standard",
  provider_error_code: "standard",
  retryable: "standard",
  attribution_tier: "standard",
  prompt_hash: "standard",
  method: "full",
  path: "full",
  source_workdir: "full",
} as const satisfies Readonly<Record<UploadField, UploadPreset | "required">>;

/** What a person has decided about metadata; `core/config` gives it. */
export interface UploadPolicy {
  readonly preset: UploadPreset;
  /** By field: `true` sends it, `false` holds it back, absent follows the preset. Unknown and required names do nothing. */
  readonly fields: Readonly<Record<string, boolean>>;
  /** By project slug: `false` makes the project local-only, whatever else is set. */
  readonly perProject: Readonly<Record<string, boolean>>;
}

/** Whether `field.<name>` names a field that can be overridden. */
export function isOverridableField(name: string): boolean {
  return Object.hasOwn(UPLOAD_FIELDS, name) && UPLOAD_FIELDS[name as UploadField] !== "required";
}

/** Whether a project keeps its metadata and bodies on this machine. */
export function isLocalOnly(project: string, policy: UploadPolicy): boolean {
  return Object.hasOwn(policy.perProject, project) && policy.perProject[project] === false;
}

/** Whether a field goes out: an override wins over the preset. */
export function isFieldSent(field: UploadField, policy: UploadPolicy): boolean {
  const level = UPLOAD_FIELDS[field];
  if (level === "required") return true;
  if (Object.hasOwn(policy.fields, field)) return policy.fields[field] === true;
  return UPLOAD_PRESETS.indexOf(level) <= UPLOAD_PRESETS.indexOf(policy.preset);
}

/** The fields that go out, for `meter cloud privacy show`. */
export function sentFields(policy: UploadPolicy): readonly UploadField[] {
  return (Object.keys(UPLOAD_FIELDS) as UploadField[]).filter((field) => isFieldSent(field, policy));
}
