import { type SqliteValue, StoreError } from "../../core/ports/sqlite.ts";
import type {
  CostSource,
  ErrorClass,
  RateSource,
  RequestKind,
  RequestRecord,
  TokenCounts,
} from "../../core/record.ts";
import type { Millis } from "../../core/time.ts";
import { MAX_COUNT } from "../../core/usage/token-counts.ts";
import type { RequestsTable } from "./tables.ts";

/** A record as stored, with what happened to it since. */
export interface StoredRequest extends RequestRecord {
  /** The order of arrival. */
  seq: number;
  syncedAt: Millis | null;
  /** Passed over by the sync (local-only project, history before the first connect). */
  syncSkippedAt: Millis | null;
  recomputedAt: Millis | null;
  reassignedAt: Millis | null;
  reassignedFrom: string | null;
}

/** A row as SQLite gives it. */
export type RequestRow = {
  [Column in keyof RequestsTable]: Column extends "seq" ? number : RequestsTable[Column];
};

/** The columns that capture fills, in the order in which `bindRecord` binds them. */
export const capturedColumns = [
  "request_id",
  "requested_at",
  "provider",
  "model",
  "project",
  "client",
  "prompt_tokens",
  "completion_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "thinking_tokens",
  "tokens_complete",
  "cost_pico_usd",
  "cost_source",
  "error_class",
  "requested_model",
  "request_kind",
  "streaming",
  "provider_cost_pico_usd",
  "rates_source",
  "service_tier",
  "usage_extras",
  "latency_ms",
  "ttfb_ms",
  "http_status",
  "provider_error_code",
  "retryable",
  "attribution_tier",
  "prompt_hash",
  "method",
  "path",
  "source_workdir",
  "host",
  "api",
  "provider_response_id",
  "error_message_hash",
  "response_kept",
] as const satisfies readonly (keyof RequestsTable)[];

/** A record beyond the bound that every reader keeps is refused, not bent. */
function tokenCount(count: number | null): number | null {
  if (count === null) return null;
  if (Number.isInteger(count) && count >= 0 && count <= MAX_COUNT) return count;
  throw new StoreError("invalid_value", `a token count must be an integer of 0 to 2^40: ${count}`);
}

/** The last instant that reports can place on a day with a year of four digits, in any time zone. */
export const lastInstant: Millis = Date.UTC(9999, 11, 31) - 1;

function instant(at: Millis): number {
  const ms = Math.round(at);
  if (ms >= 0 && ms <= lastInstant) return ms;
  throw new StoreError("invalid_value", `requestedAt must lie between 1970 and 9999: ${at}`);
}

const truth = (value: boolean | null): number | null => (value === null ? null : value ? 1 : 0);
const whole = (ms: Millis | null): number | null => (ms === null ? null : Math.round(ms));

/** Writes the record's values into `values`, which is used again for each row. Times become whole milliseconds. */
export function bindRecord(record: RequestRecord, values: SqliteValue[]): void {
  const { tokens } = record;
  values[0] = record.requestId;
  values[1] = instant(record.requestedAt);
  values[2] = record.provider;
  values[3] = record.model;
  values[4] = record.project;
  values[5] = record.client;
  values[6] = tokenCount(tokens.promptTokens);
  values[7] = tokenCount(tokens.completionTokens);
  values[8] = tokenCount(tokens.cacheReadTokens);
  values[9] = tokenCount(tokens.cacheWriteTokens);
  values[10] = tokenCount(tokens.cacheWrite1hTokens);
  values[11] = tokenCount(tokens.thinkingTokens);
  values[12] = truth(record.tokensComplete);
  values[13] = record.costPicoUsd;
  values[14] = record.costSource;
  values[15] = record.errorClass;
  values[16] = record.requestedModel;
  values[17] = record.requestKind;
  values[18] = truth(record.streaming);
  values[19] = record.providerCostPicoUsd;
  values[20] = record.ratesSource;
  values[21] = record.serviceTier;
  values[22] = record.usageExtras === null ? null : JSON.stringify(record.usageExtras);
  values[23] = whole(record.latencyMs);
  values[24] = whole(record.ttfbMs);
  values[25] = record.httpStatus;
  values[26] = record.providerErrorCode;
  values[27] = truth(record.retryable);
  values[28] = record.attributionTier;
  values[29] = record.promptHash;
  values[30] = record.method;
  values[31] = record.path;
  values[32] = record.sourceWorkdir;
  values[33] = record.host;
  values[34] = record.api;
  values[35] = record.providerResponseId;
  values[36] = record.errorMessageHash;
  values[37] = record.responseIsKept === true ? 1 : null;
}

function tokensOf(row: RequestRow): TokenCounts {
  return {
    promptTokens: row.prompt_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    completionTokens: row.completion_tokens,
    thinkingTokens: row.thinking_tokens,
  };
}

const pico = (value: number | bigint | null): bigint | null => (value === null ? null : BigInt(value));
const flag = (value: number | null): boolean | null => (value === null ? null : value === 1);

function readExtras(text: string | null): Record<string, number> | null {
  if (text === null) return null;
  try {
    return JSON.parse(text) as Record<string, number>;
  } catch (error) {
    throw new StoreError("corrupt", "usage_extras of a stored request is no JSON", { cause: error });
  }
}

/** Reads a row back. The words of closed sets were written by `bindRecord` and are trusted. */
export function toStoredRequest(row: RequestRow): StoredRequest {
  return {
    seq: row.seq,
    requestId: row.request_id,
    requestedAt: row.requested_at,
    provider: row.provider,
    model: row.model,
    requestedModel: row.requested_model,
    requestKind: row.request_kind as RequestKind,
    streaming: row.streaming === 1,
    tokens: tokensOf(row),
    tokensComplete: row.tokens_complete === 1,
    costPicoUsd: pico(row.cost_pico_usd),
    costSource: row.cost_source as CostSource,
    providerCostPicoUsd: pico(row.provider_cost_pico_usd),
    ratesSource: row.rates_source as RateSource | null,
    serviceTier: row.service_tier,
    usageExtras: readExtras(row.usage_extras),
    latencyMs: row.latency_ms,
    ttfbMs: row.ttfb_ms,
    httpStatus: row.http_status,
    errorClass: row.error_class as ErrorClass | null,
    providerErrorCode: row.provider_error_code,
    retryable: flag(row.retryable),
    errorMessageHash: row.error_message_hash,
    project: row.project,
    attributionTier: row.attribution_tier,
    promptHash: row.prompt_hash,
    method: row.method,
    path: row.path,
    sourceWorkdir: row.source_workdir,
    host: row.host,
    api: row.api,
    providerResponseId: row.provider_response_id,
    client: row.client,
    ...(row.response_kept === 1 && { responseIsKept: true }),
    syncedAt: row.synced_at,
    syncSkippedAt: row.sync_skipped_at,
    recomputedAt: row.recomputed_at,
    reassignedAt: row.reassigned_at,
    reassignedFrom: row.reassigned_from,
  };
}
