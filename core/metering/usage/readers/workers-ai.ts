import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

/**
 * Cloudflare Workers AI (`/ai/run/<model>`): any model, in an envelope. A language model states `result.usage` in OpenAI's form; a
 * stream states `usage` in its last event, without the envelope. Embeddings, images and speech state none, and their usage is
 * unknown. The path names the model.
 *
 * Source: @cloudflare/workers-types 4.20251118, `Ai_Cf_Meta_Llama_3_3_70B_Instruct_Fp8_Fast_Output`; developers.cloudflare.com,
 * "Workers AI", "REST API"; 2026-11-23.
 */
export const workersAi = defineApiReader({
  members: ["id", "model", "usage", "result.id", "result.model", "result.usage"],
  keys: ["usage"],
  lastWins: true,
  promptMembers: ["messages", "prompt", "input", "text"],
  start: startRun,
});

function startRun({ provider }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: unknown;
  let usageText: string | null = null;
  let wholeSeen = false;
  return {
    read(message, whole) {
      model = message.string("result.model") ?? message.string("model") ?? model;
      responseId = message.string("result.id") ?? message.string("id") ?? responseId;
      const path = isObject(message.value("result.usage")) ? "result.usage" : "usage";
      if (!isObject(message.value(path))) return;
      usage = message.value(path);
      usageText = message.text(path);
      wholeSeen = whole;
    },
    end: (ended) =>
      readOpenaiUsage({
        provider,
        model,
        responseId,
        serviceTier: null,
        usageText,
        usage,
        final: wholeSeen || ended,
        style: "chat",
      }),
  };
}
