import { toMinorUnits } from "../pricing/mod.ts";
import type { ErrorClass, RequestRecord } from "../record.ts";
import {
  ERROR_CLASSES,
  formatInstant,
  MAX_COST_DIGITS,
  MAX_USAGE_EXTRAS,
  type MetadataRecord,
  RECORD_TEXT_LIMITS,
  toStorableText,
} from "../wire/mod.ts";
import {
  isFieldSent,
  isLocalOnly,
  UPLOAD_FIELDS,
  type UploadField,
  type UploadPolicy,
} from "./upload-policy.ts";

/** What becomes of a record when it is to be sent. */
export type OutgoingRecord =
  | { readonly kind: "send"; readonly record: MetadataRecord }
  /** Its project is local-only: stamped as skipped, and never sent later. */
  | { readonly kind: "local_only" };

/** What a local error class may be: an older or newer row can hold another word. */
export type LocalRecord = Omit<RequestRecord, "errorClass"> & { readonly errorClass: string | null };

/**
 * The record as it leaves the machine under a policy; what is not sent is `null`. What may never leave has no field to
 * leave in, and whatever the local record holds, the result is one that the cloud's schema takes: texts are cut, numbers
 * rounded to integers, and a value that the wire can't say becomes `null`.
 */
export function toOutgoingRecord(local: LocalRecord, policy: UploadPolicy): OutgoingRecord {
  if (isLocalOnly(local.project, policy)) return { kind: "local_only" };
  const record = toMetadataRecord(local);
  const held = (Object.keys(UPLOAD_FIELDS) as UploadField[]).filter((field) => !isFieldSent(field, policy));
  return { kind: "send", record: { ...record, ...Object.fromEntries(held.map((field) => [field, null])) } };
}

function toMetadataRecord(local: LocalRecord): MetadataRecord {
  const { tokens } = local;
  const cost = toCost(local.costPicoUsd);
  return {
    request_id: local.requestId,
    requested_at: formatInstant(local.requestedAt),
    provider: toName(local.provider, RECORD_TEXT_LIMITS.provider),
    model: toName(local.model, RECORD_TEXT_LIMITS.model),
    requested_model: toText(local.requestedModel, RECORD_TEXT_LIMITS.requested_model),
    request_kind: local.requestKind,
    streaming: local.streaming,
    prompt_tokens: toCount(tokens.promptTokens),
    completion_tokens: toCount(tokens.completionTokens),
    cache_read_tokens: toCount(tokens.cacheReadTokens),
    cache_write_tokens: toCount(tokens.cacheWriteTokens),
    cache_write_1h_tokens: toCount(tokens.cacheWrite1hTokens),
    thinking_tokens: toCount(tokens.thinkingTokens),
    tokens_complete: local.tokensComplete,
    cost_usd_minor_units: cost === null ? null : Number(toMinorUnits(cost)),
    cost_pico_usd: cost === null ? null : String(cost),
    cost_source: local.costSource,
    provider_cost_pico_usd: toCost(local.providerCostPicoUsd)?.toString() ?? null,
    rates_source: local.ratesSource,
    service_tier: toText(local.serviceTier, RECORD_TEXT_LIMITS.service_tier),
    usage_extras: toExtras(local.usageExtras),
    latency_ms: toCount(local.latencyMs),
    ttfb_ms: toCount(local.ttfbMs),
    http_status: toStatus(local.httpStatus),
    error_class: toErrorClass(local.errorClass),
    provider_error_code: toText(local.providerErrorCode, RECORD_TEXT_LIMITS.provider_error_code),
    retryable: local.retryable,
    project: toText(local.project, RECORD_TEXT_LIMITS.project),
    attribution_tier: toText(local.attributionTier, RECORD_TEXT_LIMITS.attribution_tier),
    prompt_hash:
      local.promptHash !== null && /^[0-9a-f]{64}$/.test(local.promptHash) ? local.promptHash : null,
    method: toText(local.method, RECORD_TEXT_LIMITS.method),
    path: toText(withoutQuery(local.path), RECORD_TEXT_LIMITS.path),
    source_workdir: toText(local.sourceWorkdir, RECORD_TEXT_LIMITS.source_workdir),
  };
}

/** Any word outside the wire's vocabulary goes out as `unknown`. Source: contract, "Metadata request record". */
export function toErrorClass(local: string | null): ErrorClass | null {
  if (local === null) return null;
  return (ERROR_CLASSES as readonly string[]).includes(local) ? (local as ErrorClass) : "unknown";
}

function toText(text: string | null, maxCharacters: number): string | null {
  return text === null ? null : toStorableText(text, maxCharacters);
}

/** Provider and model are never left empty. */
function toName(text: string, maxCharacters: number): string {
  return text === "" ? "unknown" : toStorableText(text, maxCharacters);
}

function toCount(value: number | null): number | null {
  const rounded = Math.round(value ?? Number.NaN);
  return Number.isSafeInteger(rounded) && rounded >= 0 ? rounded + 0 : null;
}

function toStatus(status: number | null): number | null {
  const whole = toCount(status);
  return whole !== null && whole >= 100 && whole <= 999 ? whole : null;
}

function toCost(picoUsd: bigint | null): bigint | null {
  return picoUsd !== null && picoUsd >= 0n && picoUsd < 10n ** BigInt(MAX_COST_DIGITS) ? picoUsd : null;
}

function toExtras(extras: Readonly<Record<string, number>> | null): Record<string, number> | null {
  const counts = Object.entries(extras ?? {}).flatMap(([name, value]) => {
    const whole = toCount(value);
    return whole === null || !/^[a-z][a-z0-9_]{0,63}$/.test(name) ? [] : [[name, whole] as const];
  });
  return counts.length === 0 ? null : Object.fromEntries(counts.slice(0, MAX_USAGE_EXTRAS));
}

/** The path is stored without its query; a second look costs nothing where a query could hold a key. */
function withoutQuery(path: string): string {
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}
