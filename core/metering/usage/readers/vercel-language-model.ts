import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { readGatewayCost } from "../stated-cost.ts";
import { addCounts, asObject, firstCount, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { unknownUsage } from "../unknown-usage.ts";
import type { UsageFindings } from "../usage-report.ts";
import { readOpenaiTotals } from "./openai-totals.ts";

const KNOWN = {
  inputTokens: { total: true, noCache: true, cacheRead: true, cacheWrite: true },
  outputTokens: { total: true, text: true, reasoning: true },
  totalTokens: true,
  reasoningTokens: true,
  cachedInputTokens: true,
  tokens: true,
  raw: true,
} as const;

const KNOWN_FLAT = { ...KNOWN, inputTokens: true, outputTokens: true } as const;

/**
 * The protocol that the `ai` package speaks with Vercel's AI Gateway: one call of a language model or an embedding model.
 *
 * - `usage` states flat totals (`inputTokens`, `outputTokens`, with the parts `cachedInputTokens` and `reasoningTokens`), or
 *   nested ones (`inputTokens.total` with `noCache`, `cacheRead` and `cacheWrite`; `outputTokens.total` with `reasoning`).
 *   Nested totals include their parts. Flat ones are those of the provider: Google's output excludes reasoning and Anthropic's
 *   input excludes cached tokens, which shows where `totalTokens` is the sum or the part exceeds the total. An embedding states
 *   `usage.tokens`.
 * - A stream states usage in the part `finish`.
 * - `providerMetadata.gateway.cost` is the price of the call in USD, as text.
 * - `response.modelId`, or in a stream the part `response-metadata`, names the model.
 *
 * Source: vercel/ai, packages/gateway/src/gateway-language-model.ts and packages/provider/src/language-model; 2026-11-23.
 */
export const vercelLanguageModel = defineApiReader({
  members: ["type", "id", "modelId", "response.id", "response.modelId", "usage", "providerMetadata.gateway"],
  keys: ["usage"],
  // The header `ai-language-model-streaming` decides, which is not read.
  streamsByDefault: null,
  promptMembers: ["prompt", "values"],
  start: startLanguageModel,
});

function startLanguageModel(_facts: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: unknown;
  let cost: bigint | null = null;
  return {
    knowsModel: () => model !== null,
    read(message) {
      if (message.string("type") === "response-metadata") {
        model = message.string("modelId") ?? model;
        responseId = message.string("id") ?? responseId;
      }
      model = message.string("response.modelId") ?? model;
      responseId = message.string("response.id") ?? responseId;
      if (isObject(message.value("usage"))) usage = message.value("usage");
      cost = readGatewayCost(message.value("providerMetadata.gateway")) ?? cost;
    },
    end: () => findings(usage, model, responseId, cost),
  };
}

function findings(
  usage: unknown,
  model: string | null,
  responseId: string | null,
  providerCostPicoUsd: bigint | null,
): UsageFindings {
  const { inputTokens, outputTokens, totalTokens, tokens, cachedInputTokens, reasoningTokens } =
    asObject(usage);
  const nested = isObject(inputTokens);
  const [inputParts, outputParts] = [asObject(inputTokens), asObject(outputTokens)];
  const cached = firstCount(cachedInputTokens, inputParts.cacheRead);
  const input = firstCount(inputTokens, inputParts.total, tokens);
  const totals = readOpenaiTotals(
    {
      prompt_tokens: cached !== null && input !== null && cached > input ? addCounts(input, cached) : input,
      completion_tokens:
        firstCount(outputTokens, outputParts.total) ?? (readCount(tokens) === null ? null : 0),
      total_tokens: totalTokens,
      prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: inputParts.cacheWrite },
      completion_tokens_details: { reasoning_tokens: firstCount(reasoningTokens, outputParts.reasoning) },
    },
    { provider: "vercel", model, style: "chat" },
  );
  const inputs = splitTotal(totals.input, [totals.cached, totals.cacheWritten]);
  const outputs = splitTotal(totals.output, [totals.reasoning]);
  return {
    tokens: {
      ...NO_TOKENS,
      promptTokens: inputs.rest,
      cacheReadTokens: inputs.parts[0] ?? null,
      cacheWriteTokens: inputs.parts[1] ?? null,
      completionTokens: outputs.rest,
      thinkingTokens: outputs.parts[0] ?? null,
    },
    tokensComplete:
      totals.explained &&
      totals.input !== null &&
      totals.output !== null &&
      inputs.consistent &&
      outputs.consistent,
    model,
    responseId,
    serviceTier: null,
    extras: {},
    providerCostPicoUsd,
    unknownUsage: unknownUsage(usage, nested ? KNOWN : KNOWN_FLAT),
  };
}
