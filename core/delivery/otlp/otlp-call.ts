import type { MetadataRecord } from "../../wire/metadata-record.ts";

/** An attribute's value. Unknown values have no attribute. */
export type OtlpValue = string | number | boolean;

/** Attributes by name. */
export type OtlpAttributes = Readonly<Record<string, OtlpValue>>;

/** One call as OpenTelemetry describes it: the content of its span, its log event and its metrics. */
export interface OtlpCall {
  /** 32 hexadecimal digits: the request's id, so that a span that is sent twice is the same span. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly isFailed: boolean;
  readonly attributes: OtlpAttributes;
  /** Null if the field does not leave this machine. */
  readonly durationS: number | null;
  readonly costUsd: number | null;
  readonly tokens: OtlpTokens;
}

/**
 * The token counts of the GenAI conventions: `input` includes the cache, `output` includes reasoning. Null: not stated.
 * Source: open-telemetry/semantic-conventions-genai, docs/gen-ai/client-inference.md, 2026-10.
 */
export interface OtlpTokens {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly reasoning: number | null;
}

/** The well-known values of `gen_ai.provider.name` for our names of providers. Any other name stays. */
const PROVIDER_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    azure: "azure.ai.openai",
    bedrock: "aws.bedrock",
    codex: "openai",
    gemini: "gcp.gemini",
    "code-assist": "gcp.gemini",
    mistral: "mistral_ai",
    vertex: "gcp.vertex_ai",
    watsonx: "ibm.watsonx.ai",
    xai: "x_ai",
  }),
);

/** The well-known values of `gen_ai.operation.name`. Other kinds have no such value and keep ours. */
const OPERATIONS: Readonly<Record<string, string>> = { chat: "chat", embedding: "embeddings" };

const PICO_USD_PER_USD = 1e12;

/** Describes a record in the GenAI conventions. What the record does not state has no attribute. */
export function describeCall(record: MetadataRecord): OtlpCall {
  const hex = record.request_id.replaceAll("-", "");
  const tokens = countTokens(record);
  const startMs = Date.parse(record.requested_at);
  const costUsd = record.cost_pico_usd === null ? null : Number(record.cost_pico_usd) / PICO_USD_PER_USD;
  const kind = record.request_kind ?? "chat";
  const operation = OPERATIONS[kind] ?? kind;
  const status = record.http_status;
  const isFailed = record.error_class !== null || (status !== null && status >= 400);
  const attributes = defined({
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": PROVIDER_NAMES.get(record.provider) ?? record.provider,
    "gen_ai.request.model": record.requested_model,
    "gen_ai.request.stream": record.streaming === true ? true : null,
    "gen_ai.response.model": record.model === "unknown" ? null : record.model,
    "gen_ai.response.time_to_first_chunk":
      record.streaming === true && record.ttfb_ms !== null ? record.ttfb_ms / 1_000 : null,
    "gen_ai.usage.input_tokens": tokens.input,
    "gen_ai.usage.output_tokens": tokens.output,
    "gen_ai.usage.cache_read.input_tokens": tokens.cacheRead,
    "gen_ai.usage.cache_write.input_tokens": tokens.cacheWrite,
    "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
    "gen_ai.conversation.id": record.session_id,
    "gen_ai.agent.id": record.agent_id,
    "error.type": isFailed ? (record.error_class ?? String(status)) : null,
    "http.response.status_code": status,
    "vcs.ref.head.name": record.git_branch,
    "vcs.ref.head.revision": record.git_commit,
    "vcs.change.id": record.pull_request === null ? null : String(record.pull_request),
    "meter.cost.usd": costUsd,
    "meter.cost.source": record.cost_source,
    "meter.billing_mode": record.billing_mode,
    "meter.project": record.project,
    "meter.service_tier": record.service_tier,
    "meter.client.version": record.client_version,
  });
  return {
    traceId: hex,
    spanId: hex.slice(16),
    name: `${operation} ${record.requested_model ?? record.model}`,
    startMs,
    endMs: startMs + (record.latency_ms ?? 0),
    durationS: record.latency_ms === null ? null : record.latency_ms / 1_000,
    ...{ isFailed, attributes, costUsd, tokens },
  };
}

function countTokens(record: MetadataRecord): OtlpTokens {
  const { prompt_tokens, cache_read_tokens, cache_write_tokens } = record;
  const { completion_tokens, thinking_tokens } = record;
  return {
    // Without the fresh part, or the visible one, the sum is not known.
    input:
      prompt_tokens === null ? null : prompt_tokens + (cache_read_tokens ?? 0) + (cache_write_tokens ?? 0),
    output: completion_tokens === null ? null : completion_tokens + (thinking_tokens ?? 0),
    cacheRead: cache_read_tokens,
    cacheWrite: cache_write_tokens,
    reasoning: thinking_tokens,
  };
}

function defined(values: Readonly<Record<string, OtlpValue | null | undefined>>): OtlpAttributes {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
  ) as OtlpAttributes;
}
