import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { isObject, membersOf } from "../token-counts.ts";
import type { UsageReport } from "../usage-report.ts";
import { type OpenaiAnswer, readOpenaiUsage } from "./openai-usage.ts";

const spec = {
  members: [
    "id",
    "model",
    "service_tier",
    "usage",
    "choices",
    "usage_breakdown.models",
    "x_groq.usage",
    "x_groq.usage_breakdown.models",
  ],
  keys: ["usage"],
  lastWins: true,
  start: startChat,
};

/**
 * OpenAI Chat Completions and the many hosts that imitate it; see `readOpenaiUsage` for what the totals include.
 *
 * A stream states usage in its last chunk, with an empty `choices`, and only if the caller asked for it; a cut stream has
 * none. Mistral, DeepSeek, OpenRouter and others put it into the chunk that has the `finish_reason`, Groq (there) into
 * `x_groq.usage`, and some hosts repeat it, cumulative, in every chunk: the last one wins.
 *
 * Groq's compound systems answer with several models, each at its own price: `usage_breakdown.models[]` has the usage of
 * each, of which `usage` is the sum. Then each model is a result, and the sum makes no record.
 */
export const openaiChat = defineApiReader({ ...spec, promptMembers: ["messages"] });

/**
 * The older text completions (`/completions`, Mistral's `/fim/completions`): the answer's usage is Chat's.
 * Decision: their prompt is hashed over `{prompt, suffix}`, which decisions leaves silent.
 */
export const openaiCompletions = defineApiReader({ ...spec, promptMembers: ["prompt", "suffix"] });

function startChat({ provider }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let serviceTier: string | null = null;
  let usageText: string | null = null;
  let usage: unknown;
  let final = false;
  let breakdown: unknown;
  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      model = message.string("model") ?? model;
      responseId = message.string("id") ?? responseId;
      serviceTier = message.string("service_tier") ?? serviceTier;
      let path = "usage";
      let stated = message.value(path);
      if (!isObject(stated)) {
        path = "x_groq.usage";
        stated = message.value(path);
        if (!isObject(stated)) return;
      }
      usage = stated;
      usageText = message.text(path);
      breakdown =
        message.value("usage_breakdown.models") ??
        message.value("x_groq.usage_breakdown.models") ??
        breakdown;
      if (whole || isLastChunk(message.value("choices"))) final = true;
    },
    end(ended) {
      const answer = {
        provider,
        model,
        responseId,
        serviceTier,
        usageText,
        usage,
        final: final || ended,
        style: "chat" as const,
      };
      const results = Array.isArray(breakdown) ? readBreakdown(breakdown, answer) : [];
      if (results.length === 0) return readOpenaiUsage(answer);
      return { ...readOpenaiUsage(answer), results, noRecord: "results" };
    },
  };
}

function readBreakdown(models: readonly unknown[], answer: OpenaiAnswer): UsageReport[] {
  return models.map((entry, index) => {
    const { model, usage } = membersOf(entry);
    return {
      ...readOpenaiUsage({
        ...answer,
        model: typeof model === "string" ? model : null,
        responseId: answer.responseId === null ? null : `${answer.responseId}/${index}`,
        usageText: null,
        usage,
      }),
      error: null,
    };
  });
}

/** Whether a chunk with usage is the last: it has no choices, or one that is finished. */
function isLastChunk(choices: unknown): boolean {
  return (
    Array.isArray(choices) &&
    (choices.length === 0 || choices.some((choice) => typeof membersOf(choice).finish_reason === "string"))
  );
}
