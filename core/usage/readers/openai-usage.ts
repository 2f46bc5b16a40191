import { readStatedCost } from "../stated-cost.ts";
import {
  addCounts,
  firstCount,
  isObject,
  membersOf,
  NO_TOKENS,
  readCount,
  splitTotal,
} from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra, setPart } from "../usage-extras.ts";
import type { UsageFindings } from "../usage-report.ts";

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
  input_tokens_details: INPUT_DETAILS,
  completion_tokens_details: OUTPUT_DETAILS,
  output_tokens_details: OUTPUT_DETAILS,
  input_token_details: INPUT_DETAILS,
  output_token_details: OUTPUT_DETAILS,
  cached_tokens_details: CACHED_DETAILS,
  // A transcription's `tokens`.
  type: true,
  // DeepSeek and others say it beside the details, or instead of them.
  prompt_cache_hit_tokens: true,
  prompt_cache_miss_tokens: true,
  cached_tokens: true,
  reasoning_tokens: true,
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

/**
 * Whose `completion_tokens` leave the reasoning out: xAI on Chat Completions (docs.x.ai, "Reasoning"; its Responses API
 * includes it, as OpenAI's does) and Perplexity, which also bills it apart.
 */
const REASONING_APART: ReadonlySet<string> = new Set(["xai", "perplexity"]);

/** What stands around the usage object of an answer of OpenAI's family. */
export interface OpenaiAnswer {
  provider: string;
  model: string | null;
  responseId: string | null;
  serviceTier: string | null;
  /** The usage object's own text and value; null and undefined when none was sent. */
  usageText: string | null;
  usage: unknown;
  /** Whether this usage is the last that the answer would have stated. */
  final: boolean;
  style: "chat" | "responses";
}

/**
 * Maps a usage object of OpenAI's family (Chat: `prompt_tokens`, `completion_tokens`; Responses: `input_tokens`,
 * `output_tokens`) to the disjoint counts.
 *
 * - The input total is **inclusive** of `cached_tokens` and `cache_write_tokens`, which are taken out of it. DeepSeek
 *   names the first `prompt_cache_hit_tokens`.
 * - Audio and image are parts of the input, cached or not, and of the output; `cached_tokens_details` says how much of
 *   them the cache had. Realtime and transcriptions write `input_token_details` for `input_tokens_details`.
 * - The output total is **inclusive** of `reasoning_tokens`, except where `REASONING_APART` says otherwise, or where
 *   `total_tokens` proves it by being the sum of all three: hosts that pass other makers' numbers on are told apart so.
 * - A detail that is not stated stays null; its tokens are in the sibling, so that the totals are complete without it.
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
  const input = firstCount(usage.prompt_tokens, usage.input_tokens);
  const stated = firstCount(usage.completion_tokens, usage.output_tokens);
  const inputDetails = membersOf(
    usage.prompt_tokens_details ?? usage.input_tokens_details ?? usage.input_token_details,
  );
  const outputDetails = membersOf(
    usage.completion_tokens_details ?? usage.output_tokens_details ?? usage.output_token_details,
  );
  const cached = firstCount(inputDetails.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens);
  const reasoning = firstCount(outputDetails.reasoning_tokens, usage.reasoning_tokens);
  const output = reasoningIsApart(answer, input, stated, reasoning, usage.total_tokens)
    ? addCounts(stated, reasoning)
    : stated;
  const inputs = splitTotal(input, [cached, readCount(inputDetails.cache_write_tokens)]);
  const outputs = splitTotal(output, [reasoning]);
  setModalities(
    around.extras,
    inputDetails,
    inputs.rest,
    usage.cached_tokens_details,
    inputs.parts[0] ?? null,
  );
  setOpenaiExtras(around.extras, usage, inputDetails, outputDetails, outputs.rest);
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
      answer.final && input !== null && output !== null && inputs.consistent && outputs.consistent,
    providerCostPicoUsd: readStatedCost(answer.provider, answer.usageText),
    unknownUsage: unknownUsage(usage, KNOWN),
  };
}

function reasoningIsApart(
  answer: OpenaiAnswer,
  input: number | null,
  output: number | null,
  reasoning: number | null,
  total: unknown,
): boolean {
  if (output === null || reasoning === null || reasoning === 0) return false;
  if (answer.style === "chat" && REASONING_APART.has(answer.provider)) return true;
  return input !== null && readCount(total) === input + output + reasoning;
}

/**
 * Sets the parts of the input that are no text. What is stated includes the cached ones, which are taken out where
 * `cached_tokens_details` tells them.
 */
function setModalities(
  extras: Record<string, number>,
  input: Readonly<Record<string, unknown>>,
  fresh: number | null,
  cachedBeside: unknown,
  cached: number | null,
): void {
  const inCache = membersOf(input.cached_tokens_details ?? cachedBeside);
  const audioCached = readCount(inCache.audio_tokens) ?? 0;
  const imageCached = firstCount(inCache.image_tokens, inCache.cached_image_tokens) ?? 0;
  const freshOf = (all: unknown, ofCache: number) => Math.max(0, (readCount(all) ?? 0) - ofCache);
  setPart(extras, "audio_input_tokens", freshOf(input.audio_tokens, audioCached), fresh);
  setPart(extras, "image_input_tokens", freshOf(input.image_tokens, imageCached), fresh);
  setPart(extras, "video_input_tokens", input.video_tokens, fresh);
  setPart(extras, "audio_cache_read_tokens", audioCached, cached);
  setPart(extras, "image_cache_read_tokens", imageCached, cached);
}

function setOpenaiExtras(
  extras: Record<string, number>,
  usage: Readonly<Record<string, unknown>>,
  input: Readonly<Record<string, unknown>>,
  output: Readonly<Record<string, unknown>>,
  visible: number | null,
): void {
  setPart(extras, "audio_output_tokens", output.audio_tokens, visible);
  setPart(extras, "image_output_tokens", output.image_tokens, visible);
  setPart(extras, "video_output_tokens", output.video_tokens, visible);
  const lifetimes = membersOf(input.cache_write_tokens_details);
  setExtra(extras, "cache_write_30m_tokens", lifetimes.ttl_30m_tokens);
  setExtra(extras, "cache_write_12h_tokens", lifetimes.ttl_12h_tokens);
  const tools = membersOf(usage.server_tool_use);
  // xAI's tools are in its stated cost.
  const calls = membersOf(usage.server_side_tool_usage_details);
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
