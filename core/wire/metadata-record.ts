import * as v from "valibot";
import type { CostSource, ErrorClass, RateSource, RequestKind } from "../record.ts";
import { cost, count, instant, integer, maybe, name, sha256Hex, text, uuid } from "./fields.ts";
import { type Parsed, parseWire } from "./parse.ts";

/** The words of `error_class`, exactly. Source: contract, "Metadata request record". */
export const ERROR_CLASSES = [
  "rate_limit",
  "server_error",
  "bad_request",
  "auth",
  "timeout",
  "network",
  "unknown",
] as const satisfies readonly ErrorClass[];

const REQUEST_KINDS = [
  "chat",
  "embedding",
  "image",
  "audio",
  "other",
] as const satisfies readonly RequestKind[];
const COST_SOURCES = [
  "computed",
  "provider",
  "estimated",
  "unpriced",
] as const satisfies readonly CostSource[];
const RATE_SOURCES = ["bundled", "auto", "operator"] as const satisfies readonly RateSource[];

/** Most characters of each text of a record. Decision: generous for what providers send, small enough for an index. */
export const RECORD_TEXT_LIMITS = {
  provider: 64,
  model: 256,
  requested_model: 256,
  service_tier: 64,
  provider_error_code: 128,
  project: 64,
  attribution_tier: 64,
  method: 32,
  path: 2048,
  source_workdir: 4096,
} as const;

/** Most counts in `usage_extras`, and most characters of each one's name. */
export const MAX_USAGE_EXTRAS = 64;

const usageExtras = v.pipe(
  v.record(name(64), count),
  v.maxEntries(MAX_USAGE_EXTRAS, `must hold at most ${MAX_USAGE_EXTRAS} counts`),
);

/**
 * One request as a daemon sends it. Prompt, completion and `error_message_hash` have no field: they can't be sent.
 * Source: contract, "Metadata request record"; decisions, "Metadata batch". All but the first four may be absent.
 */
export const metadataRecordSchema = v.object({
  request_id: uuid,
  requested_at: instant,
  provider: name(RECORD_TEXT_LIMITS.provider),
  model: name(RECORD_TEXT_LIMITS.model),
  requested_model: maybe(text(RECORD_TEXT_LIMITS.requested_model)),
  request_kind: maybe(v.picklist(REQUEST_KINDS)),
  streaming: maybe(v.boolean()),
  prompt_tokens: maybe(count),
  completion_tokens: maybe(count),
  cache_read_tokens: maybe(count),
  cache_write_tokens: maybe(count),
  cache_write_1h_tokens: maybe(count),
  thinking_tokens: maybe(count),
  tokens_complete: maybe(v.boolean()),
  /** Millicents: 1 USD = 100,000. */
  cost_usd_minor_units: maybe(count),
  cost_pico_usd: maybe(cost),
  cost_source: maybe(v.picklist(COST_SOURCES)),
  provider_cost_pico_usd: maybe(cost),
  rates_source: maybe(v.picklist(RATE_SOURCES)),
  service_tier: maybe(text(RECORD_TEXT_LIMITS.service_tier)),
  usage_extras: maybe(usageExtras),
  latency_ms: maybe(count),
  ttfb_ms: maybe(count),
  http_status: maybe(integer(100, 999)),
  error_class: maybe(v.picklist(ERROR_CLASSES)),
  provider_error_code: maybe(text(RECORD_TEXT_LIMITS.provider_error_code)),
  retryable: maybe(v.boolean()),
  project: maybe(text(RECORD_TEXT_LIMITS.project)),
  attribution_tier: maybe(text(RECORD_TEXT_LIMITS.attribution_tier)),
  prompt_hash: maybe(sha256Hex),
  method: maybe(text(RECORD_TEXT_LIMITS.method)),
  /** Without the query. */
  path: maybe(text(RECORD_TEXT_LIMITS.path)),
  source_workdir: maybe(text(RECORD_TEXT_LIMITS.source_workdir)),
});

/** One request as it leaves the daemon and as the cloud reads it: every field present, `null` where nothing is said. */
export type MetadataRecord = v.InferOutput<typeof metadataRecordSchema>;

/** Reads one record of a batch. */
export function parseMetadataRecord(input: unknown): Parsed<MetadataRecord> {
  return parseWire(metadataRecordSchema, input);
}
