import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

/**
 * OpenAI Images (generations, edits, variations), streamed or not. See `readOpenaiUsage` for what the totals include.
 *
 * - `input_tokens` is **inclusive** of `input_tokens_details.image_tokens`. `output_tokens` are image tokens, unless
 *   `output_tokens_details` states a text part.
 * - A stream states usage at the top level of `image_generation.completed` or `image_edit.completed`. Events with partial
 *   images have none.
 * - The response names no model. Models that are billed per image (DALL·E) state no usage.
 */
export const openaiImages = defineApiReader({
  members: ["id", "model", "usage"],
  keys: ["usage"],
  lastWins: true,
  promptMembers: ["prompt"],
  start: startImages,
});

function startImages({ provider }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: unknown;
  let usageText: string | null = null;
  return {
    read(message) {
      model = message.string("model") ?? model;
      responseId = message.string("id") ?? responseId;
      const stated = message.value("usage");
      if (!isObject(stated)) return;
      usage = isObject(stated.output_tokens_details)
        ? stated
        : { ...stated, output_tokens_details: { image_tokens: stated.output_tokens } };
      usageText = message.text("usage");
    },
    end: () =>
      readOpenaiUsage({
        provider,
        model,
        responseId,
        serviceTier: null,
        usageText,
        usage,
        final: true,
        style: "responses",
      }),
  };
}
