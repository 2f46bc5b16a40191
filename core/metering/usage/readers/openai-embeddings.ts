import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { readStatedCost } from "../stated-cost.ts";
import { asObject, firstCount, isObject, NO_TOKENS } from "../token-counts.ts";
import { unknownUsage } from "../unknown-usage.ts";

const KNOWN = {
  prompt_tokens: true,
  input_tokens: true,
  completion_tokens: true,
  total_tokens: true,
  cost: true,
  cost_in_usd_ticks: true,
} as const;

/**
 * OpenAI Embeddings and compatible hosts. The only count is `usage.prompt_tokens`, or the equal `total_tokens`. An embedding
 * has no output, so the completion count is 0 and not unknown.
 */
export const openaiEmbeddings = defineApiReader({
  members: ["id", "model", "usage"],
  keys: ["usage"],
  streamsByDefault: null,
  promptMembers: ["input"],
  start: startEmbeddings,
});

function startEmbeddings({ provider }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: unknown;
  let usageText: string | null = null;
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("model") ?? model;
      responseId = message.string("id") ?? responseId;
      usage = message.value("usage") ?? usage;
      usageText = message.text("usage") ?? usageText;
    },
    end() {
      const { prompt_tokens, input_tokens, total_tokens } = asObject(usage);
      const input = firstCount(prompt_tokens, input_tokens, total_tokens);
      return {
        tokens: input === null ? NO_TOKENS : { ...NO_TOKENS, promptTokens: input, completionTokens: 0 },
        tokensComplete: input !== null,
        model,
        responseId,
        serviceTier: null,
        extras: {},
        providerCostPicoUsd: isObject(usage) ? readStatedCost(provider, usageText) : null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}
