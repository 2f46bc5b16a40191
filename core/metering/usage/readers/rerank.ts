import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { readStatedCost } from "../stated-cost.ts";
import { asObject, firstCount, NO_TOKENS } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";

const KNOWN: KnownMembers = {
  prompt_tokens: true,
  input_tokens: true,
  completion_tokens: true,
  total_tokens: true,
  search_units: true,
  cost: true,
};

/**
 * `/rerank` of hosts that are compatible with Cohere's or OpenAI's API: Together, Fireworks, OpenRouter and others. A ranking
 * has no output, so a stated input is the whole usage. `search_units` are billed instead of tokens where they are stated, as
 * in Cohere's own `meta.billed_units`.
 * Sources, read 2026-11-23: together-ai 0.52.0, resources/rerank.d.ts: RerankCreateResponse; @openrouter/sdk 1.3.19,
 * models/operations: CreateRerankUsage.
 */
export const rerank = defineApiReader({
  members: ["id", "model", "usage", "meta.billed_units.search_units"],
  keys: ["usage"],
  streamsByDefault: null,
  promptMembers: ["query", "documents"],
  start: startRerank,
});

function startRerank({ provider }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: unknown;
  let usageText: string | null = null;
  let units: unknown;
  return {
    read(message) {
      model = message.string("model");
      responseId = message.string("id");
      units = message.value("meta.billed_units.search_units");
      if (!isObject(message.value("usage"))) return;
      usage = message.value("usage");
      usageText = message.text("usage");
    },
    end() {
      const stated = asObject(usage);
      const input = firstCount(stated.prompt_tokens, stated.input_tokens, stated.total_tokens);
      const searches = firstCount(stated.search_units, units);
      const cost = readStatedCost(provider, usageText);
      const extras: Record<string, number> = {};
      setExtra(extras, "search_units", searches);
      return {
        tokens: input === null ? NO_TOKENS : { ...NO_TOKENS, promptTokens: input, completionTokens: 0 },
        tokensComplete: input !== null || searches !== null || cost !== null,
        model,
        responseId,
        serviceTier: null,
        extras,
        providerCostPicoUsd: cost,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}
