import { isObject } from "../../../values/json-object.ts";
import { readStatedCost } from "../stated-cost.ts";
import { asObject, firstCount, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra, setPartExtra } from "../usage-extras.ts";
import type { UsageFindings } from "../usage-report.ts";
import { readOpenaiTotals } from "./openai-totals.ts";

const CACHED_DETAILS: KnownMembers = {
  text_tokens: true,
  audio_tokens: true,
  image_tokens: true,
  cached_text_tokens: true,
  cached_image_tokens: true,
};

const INPUT_DETAILS: KnownMembers = {
  cached_tokens: true,
  cached_tokens_details: CACHED_DETAILS,
  cache_write_tokens: true,
  cache_write_tokens_details: { ttl_30m_tokens: true, ttl_12h_tokens: true },
  text_tokens: true,
  audio_tokens: true,
  image_tokens: true,
  video_tokens: true,
};

const OUTPUT_DETAILS: KnownMembers = {
  reasoning_tokens: true,
  text_tokens: true,
  audio_tokens: true,
  image_tokens: true,
  video_tokens: true,
  accepted_prediction_tokens: true,
  rejected_prediction_tokens: true,
};

const KNOWN: KnownMembers = {
  prompt_tokens: true,
  completion_tokens: true,
  input_tokens: true,
  output_tokens: true,
  total_tokens: true,
  prompt_tokens_details: INPUT_DETAILS,
  // Mistral states both spellings.
  prompt_token_details: INPUT_DETAILS,
  input_tokens_details: INPUT_DETAILS,
  completion_tokens_details: OUTPUT_DETAILS,
  output_tokens_details: OUTPUT_DETAILS,
  input_token_details: INPUT_DETAILS,
  output_token_details: OUTPUT_DETAILS,
  cached_tokens_details: CACHED_DETAILS,
  // `tokens` in a transcription.
  type: true,
  // DeepSeek and others state these next to the details, or instead of them.
  prompt_cache_hit_tokens: true,
  prompt_cache_miss_tokens: true,
  cached_tokens: true,
  num_cached_tokens: true,
  reasoning_tokens: true,
  prompt_audio_seconds: true,
  // Groq's durations in seconds.
  queue_time: true,
  prompt_time: true,
  completion_time: true,
  total_time: true,
  server_tool_use: { web_search_requests: true, web_fetch_requests: true },
  num_sources_used: true,
  num_server_side_tools_used: true,
  server_side_tool_usage_details: {
    web_search_calls: true,
    x_search_calls: true,
    code_interpreter_calls: true,
    file_search_calls: true,
    document_search_calls: true,
  },
  citation_tokens: true,
  num_search_queries: true,
  cost: true,
  cost_details: true,
  is_byok: true,
  cost_in_usd_ticks: true,
};

/** The usage object of an OpenAI-compatible response, and the facts around it. */
export interface OpenaiAnswer {
  provider: string;
  model: string | null;
  responseId: string | null;
  serviceTier: string | null;
  /** The source text of the usage object; null if none was sent. */
  usageText: string | null;
  usage: unknown;
  /** Whether this is the final usage of the response. */
  final: boolean;
  style: "chat" | "responses";
}

/**
 * Converts an OpenAI-compatible usage object (Chat: `prompt_tokens`, `completion_tokens`; Responses: `input_tokens`,
 * `output_tokens`) to the disjoint counts.
 *
 * - The input total is **inclusive** of `cached_tokens` and `cache_write_tokens`, which are subtracted. DeepSeek calls the
 *   former `prompt_cache_hit_tokens`.
 * - Audio and image tokens are parts of the input, cached or not, and of the output. `cached_tokens_details` states their
 *   cached part. Realtime and transcriptions use `input_token_details` instead of `input_tokens_details`.
 * - The output total is **inclusive** of `reasoning_tokens`. `readOpenaiTotals` lists the exceptions.
 * - A detail that is not stated is null. Its tokens are included in the sibling count, so the totals are still complete.
 */
export function readOpenaiUsage(answer: OpenaiAnswer): UsageFindings {
  const around = {
    model: answer.model,
    responseId: answer.responseId,
    serviceTier: answer.serviceTier,
    extras: {} as Record<string, number>,
  };
  const { usage } = answer;
  if (!isObject(usage))
    return {
      ...around,
      tokens: NO_TOKENS,
      tokensComplete: false,
      providerCostPicoUsd: null,
      unknownUsage: null,
    };
  const totals = readOpenaiTotals(usage, answer);
  const inputs = splitTotal(totals.input, [totals.cached, totals.cacheWritten]);
  const outputs = splitTotal(totals.output, [totals.reasoning]);
  const inputDetails = { ...totals.inputDetails, audio_tokens: totals.audioInput };
  setModalities(
    around.extras,
    inputDetails,
    inputs.rest,
    usage.cached_tokens_details,
    inputs.parts[0] ?? null,
  );
  setOpenaiExtras(around.extras, usage, inputDetails, totals.outputDetails, outputs.rest);
  return {
    ...around,
    tokens: {
      promptTokens: inputs.rest,
      cacheReadTokens: inputs.parts[0] ?? null,
      cacheWriteTokens: inputs.parts[1] ?? null,
      cacheWrite1hTokens: null,
      completionTokens: outputs.rest,
      thinkingTokens: outputs.parts[0] ?? null,
    },
    tokensComplete:
      answer.final &&
      totals.explained &&
      totals.input !== null &&
      totals.output !== null &&
      inputs.consistent &&
      outputs.consistent,
    providerCostPicoUsd: readStatedCost(answer.provider, answer.usageText),
    unknownUsage: unknownUsage(usage, KNOWN),
  };
}

/**
 * Sets the non-text parts of the input. The stated counts include cached tokens, which are subtracted if
 * `cached_tokens_details` states them.
 */
function setModalities(
  extras: Record<string, number>,
  input: Readonly<Record<string, unknown>>,
  fresh: number | null,
  cachedBeside: unknown,
  cached: number | null,
): void {
  const inCache = asObject(input.cached_tokens_details ?? cachedBeside);
  const audioCached = readCount(inCache.audio_tokens) ?? 0;
  const imageCached = firstCount(inCache.image_tokens, inCache.cached_image_tokens) ?? 0;
  const freshOf = (all: unknown, ofCache: number) => Math.max(0, (readCount(all) ?? 0) - ofCache);
  setPartExtra(extras, "audio_input_tokens", freshOf(input.audio_tokens, audioCached), fresh);
  setPartExtra(extras, "image_input_tokens", freshOf(input.image_tokens, imageCached), fresh);
  setPartExtra(extras, "video_input_tokens", input.video_tokens, fresh);
  setPartExtra(extras, "audio_cache_read_tokens", audioCached, cached);
  setPartExtra(extras, "image_cache_read_tokens", imageCached, cached);
}

function setOpenaiExtras(
  extras: Record<string, number>,
  usage: Readonly<Record<string, unknown>>,
  input: Readonly<Record<string, unknown>>,
  output: Readonly<Record<string, unknown>>,
  visible: number | null,
): void {
  setPartExtra(extras, "audio_output_tokens", output.audio_tokens, visible);
  setPartExtra(extras, "image_output_tokens", output.image_tokens, visible);
  setPartExtra(extras, "video_output_tokens", output.video_tokens, visible);
  const lifetimes = asObject(input.cache_write_tokens_details);
  setExtra(extras, "cache_write_30m_tokens", lifetimes.ttl_30m_tokens);
  setExtra(extras, "cache_write_12h_tokens", lifetimes.ttl_12h_tokens);
  const tools = asObject(usage.server_tool_use);
  // xAI's stated cost includes its tools.
  const calls = asObject(usage.server_side_tool_usage_details);
  setExtra(
    extras,
    "web_search_requests",
    firstCount(tools.web_search_requests, usage.num_search_queries, calls.web_search_calls),
  );
  setExtra(extras, "x_search_requests", calls.x_search_calls);
  setExtra(extras, "code_execution_requests", calls.code_interpreter_calls);
  setExtra(extras, "file_search_requests", firstCount(calls.file_search_calls, calls.document_search_calls));
  setExtra(extras, "web_fetch_requests", tools.web_fetch_requests);
  setExtra(extras, "num_sources_used", usage.num_sources_used);
  setExtra(extras, "citation_tokens", usage.citation_tokens);
}
