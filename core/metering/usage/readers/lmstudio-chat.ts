import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { asObject, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";

const KNOWN: KnownMembers = {
  input_tokens: true,
  total_output_tokens: true,
  reasoning_output_tokens: true,
  tokens_per_second: true,
  time_to_first_token_seconds: true,
  model_load_time_seconds: true,
};

/**
 * LM Studio's own chat API (`/api/v1/chat`). `stats.total_output_tokens` is **inclusive** of `reasoning_output_tokens`. A
 * stream repeats the whole response in `result` of its last event, `chat.end`; its first event names the model.
 *
 * Source: lmstudio.ai/docs/developer/rest, "Chat with a model", "Streaming events"; 2026-11-23.
 */
export const lmstudioChat = defineApiReader({
  members: [
    "model_instance_id",
    "response_id",
    "stats",
    "result.model_instance_id",
    "result.response_id",
    "result.stats",
  ],
  keys: ["stats"],
  promptMembers: ["system_prompt", "input"],
  start: startChat,
});

function startChat(): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let stats: unknown;
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("result.model_instance_id") ?? message.string("model_instance_id") ?? model;
      responseId = message.string("result.response_id") ?? message.string("response_id") ?? responseId;
      stats = message.value("result.stats") ?? message.value("stats") ?? stats;
    },
    end() {
      const { input_tokens, total_output_tokens, reasoning_output_tokens } = asObject(stats);
      const input = readCount(input_tokens);
      const outputs = splitTotal(readCount(total_output_tokens), [readCount(reasoning_output_tokens)]);
      return {
        tokens: {
          ...NO_TOKENS,
          promptTokens: input,
          completionTokens: outputs.rest,
          thinkingTokens: outputs.parts[0] as number | null,
        },
        tokensComplete: input !== null && outputs.rest !== null && outputs.consistent,
        model,
        responseId,
        serviceTier: null,
        extras: {},
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(stats, KNOWN),
      };
    },
  };
}
