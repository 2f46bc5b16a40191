import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { isObject } from "../token-counts.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

/**
 * OpenAI Responses, whole or streamed; see `readOpenaiUsage` for what the totals include (everything). A stream states
 * usage in `response.completed`, `response.incomplete` or `response.failed`, inside `response`; `response.created` has the
 * model, and `usage: null`. `service_tier` there is the tier that was used, not the one asked for.
 */
export const openaiResponses = defineApiReader({
  members: [
    "id",
    "model",
    "service_tier",
    "usage",
    "response.id",
    "response.model",
    "response.service_tier",
    "response.usage",
    "response.error",
  ],
  keys: ["usage"],
  promptMembers: ["instructions", "input"],
  start: startResponses,
});

function startResponses({ provider }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let serviceTier: string | null = null;
  let usageText: string | null = null;
  let usage: unknown;
  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      const at = whole ? "" : "response.";
      model = message.string(`${at}model`) ?? model;
      responseId = message.string(`${at}id`) ?? responseId;
      serviceTier = message.string(`${at}service_tier`) ?? serviceTier;
      const stated = message.value(`${at}usage`);
      if (!isObject(stated)) return;
      usage = stated;
      usageText = message.text(`${at}usage`);
    },
    end: () =>
      readOpenaiUsage({
        provider,
        model,
        responseId,
        serviceTier,
        usageText,
        usage,
        final: true,
        style: "responses",
      }),
  };
}
