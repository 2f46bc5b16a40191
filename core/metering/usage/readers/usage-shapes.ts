import { isObject } from "../../../values/json-object.ts";
import type { ApiReader } from "../api-reader.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { NO_TOKENS } from "../token-counts.ts";
import { unknownUsage } from "../unknown-usage.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { bedrockConverse } from "./bedrock-converse.ts";
import { openaiChat } from "./openai-chat.ts";

/** Returns the reader of a model's own API for its usage object, chosen by the members of that object; null if none is known. */
export function readerForUsage(usage: Readonly<Record<string, unknown>>): ApiReader | null {
  if (usage.inputTokens !== undefined) return bedrockConverse;
  if (usage.input_tokens !== undefined || usage.output_tokens !== undefined) return anthropicMessages;
  return usage.prompt_tokens === undefined ? null : openaiChat;
}

/**
 * The response of a model whose API the path does not tell, such as Vertex's partner models and models on an endpoint of the
 * customer. The usage object decides which API it is. `:predict` states no usage for most models.
 */
export const anyModel = defineApiReader({
  members: ["id", "model", "usage", "delta", "choices", "message.id", "message.model", "message.usage"],
  keys: ["usage"],
  promptMembers: ["system", "messages", "prompt", "instances"],
  start: startAnyModel,
});

function startAnyModel(facts: AnswerFacts): MessageReader {
  let reader: MessageReader | null = null;
  let model: string | null = null;
  let usage: unknown;
  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      model = message.string("message.model") ?? message.string("model") ?? model;
      const stated = message.value("message.usage") ?? message.value("usage");
      if (!isObject(stated)) return;
      usage = stated;
      reader ??= readerForUsage(stated)?.start(facts) ?? null;
      reader?.read(message, whole);
    },
    end: (ended) => ({
      tokens: NO_TOKENS,
      tokensComplete: false,
      responseId: null,
      serviceTier: null,
      extras: {},
      providerCostPicoUsd: null,
      unknownUsage: unknownUsage(usage, {}),
      ...reader?.end(ended),
      model,
    }),
  };
}
