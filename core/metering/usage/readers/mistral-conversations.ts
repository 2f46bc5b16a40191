import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { addCounts, asObject, NO_TOKENS, readCount } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";

const KNOWN: KnownMembers = {
  prompt_tokens: true,
  completion_tokens: true,
  total_tokens: true,
  connector_tokens: true,
  connectors: {
    web_search: true,
    web_search_premium: true,
    code_interpreter: true,
    image_generation: true,
    document_library: true,
  },
};

/**
 * Mistral's Conversations: a run of a model or an agent, streamed or not.
 *
 * - `usage` is in the response, or in the last event of a stream (`conversation.response.done`).
 * - `connector_tokens` are tokens that the tools brought in. `total_tokens` is the sum of all three, so they are on top of
 *   `prompt_tokens`. Decision: they are input.
 * - `connectors` counts the calls of the tools, which have their own prices.
 * - The model is in the outputs, or in the events of a message. The conversation's id is not the response's: each message to
 *   the conversation is billed.
 *
 * Sources, read 2026-11-23: @mistralai/mistralai 2.7.0, models/components: ConversationResponse, ConversationUsageInfo,
 * ResponseDoneEvent; docs.mistral.ai, "Websearch" (188 + 55 + 7112 = 7355).
 */
export const mistralConversations = defineApiReader({
  members: ["model", "usage", "outputs", "type"],
  keys: ["usage"],
  maxMemberBytes: 1024 * 1024,
  promptMembers: ["instructions", "inputs"],
  start: startConversation,
});

function startConversation({ routeModel }: AnswerFacts): MessageReader {
  let model = routeModel;
  let usage: unknown;
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("model") ?? modelOf(message.value("outputs")) ?? model;
      const stated = message.value("usage");
      if (isObject(stated)) usage = stated;
    },
    end() {
      const stated = asObject(usage);
      const prompt = readCount(stated.prompt_tokens);
      const completion = readCount(stated.completion_tokens);
      const connectors = asObject(stated.connectors);
      const extras: Record<string, number> = {};
      const searches = addCounts(readCount(connectors.web_search), readCount(connectors.web_search_premium));
      setExtra(extras, "web_search_requests", searches);
      setExtra(extras, "code_execution_requests", connectors.code_interpreter);
      setExtra(extras, "generated_images", connectors.image_generation);
      setExtra(extras, "file_search_requests", connectors.document_library);
      return {
        tokens: {
          ...NO_TOKENS,
          promptTokens: prompt === null ? null : addCounts(prompt, readCount(stated.connector_tokens)),
          completionTokens: completion,
        },
        tokensComplete: prompt !== null && completion !== null,
        model,
        responseId: null,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}

function modelOf(outputs: unknown): string | null {
  if (!Array.isArray(outputs)) return null;
  for (const output of outputs) {
    const { model } = asObject(output);
    if (typeof model === "string" && model !== "") return model;
  }
  return null;
}
