import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import type { PickedMembers } from "../member-picker.ts";
import { readGatewayCost } from "../stated-cost.ts";
import { asObject } from "../token-counts.ts";
import type { UsageReport } from "../usage-report.ts";
import { type OpenaiAnswer, readOpenaiUsage } from "./openai-usage.ts";

const spec = {
  members: [
    "id",
    "request_id",
    "model",
    "model_id",
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
 * OpenAI Chat Completions and compatible hosts. See `readOpenaiUsage` for what the totals include.
 *
 * A stream states usage in its last chunk, with an empty `choices`, and only if the request enables it. A truncated stream
 * has no usage. Mistral, DeepSeek, OpenRouter and others put usage into the chunk with the `finish_reason`; Groq puts it into
 * `x_groq.usage` of that chunk. Some hosts send cumulative usage in every chunk, of which the last one counts.
 *
 * xAI answers a deferred request with a `request_id` alone; see `deferredChat`.
 *
 * Moonshot puts usage into the last choice of a stream, beside its `finish_reason`. watsonx names the model in `model_id`.
 *
 * Vercel's AI Gateway states its price in `provider_metadata.gateway.cost` of the message, or of the last delta.
 *
 * Groq's compound systems use several models with their own prices: `usage_breakdown.models[]` has the usage of each, and
 * `usage` is their sum. Each model is then a result, and the sum makes no record.
 */
export const openaiChat = defineApiReader({ ...spec, promptMembers: ["messages"] });

/**
 * Text completions (`/completions`, Mistral's `/fim/completions`), with the usage of Chat Completions.
 * Decision: the prompt hash covers `{prompt, suffix}`, which docs/specification.md#prompt-hash does not mention.
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
  let deferredId: string | null = null;
  let gatewayCost: bigint | null = null;
  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      model = message.string("model") ?? message.string("model_id") ?? model;
      responseId = message.string("id") ?? responseId;
      if (whole && responseId === null) deferredId = message.string("request_id");
      serviceTier = message.string("service_tier") ?? serviceTier;
      if (provider === "vercel") gatewayCost = readCostOfChoices(message) ?? gatewayCost;
      let path = "usage";
      let stated = message.value(path);
      if (!isObject(stated)) {
        path = "x_groq.usage";
        stated = message.value(path);
      }
      if (!isObject(stated)) stated = usageOfChoices(message);
      if (!isObject(stated)) return;
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
        responseId: responseId ?? deferredId,
        serviceTier,
        usageText,
        usage,
        final: final || ended,
        style: "chat" as const,
      };
      const results = Array.isArray(breakdown) ? readBreakdown(breakdown, answer) : [];
      if (results.length === 0)
        return {
          ...readOpenaiUsage(answer),
          ...(gatewayCost !== null && { providerCostPicoUsd: gatewayCost }),
          ...(deferredId === null ? {} : { startsJob: true }),
        };
      return { ...readOpenaiUsage(answer), results, noRecord: "results" };
    },
  };
}

/** Reads the cost that Vercel's AI Gateway states in the message of a choice, or in the last delta of a stream. */
function readCostOfChoices(message: PickedMembers): bigint | null {
  if (!message.text("choices")?.includes('"gateway"')) return null;
  const [choice] = [message.value("choices")].flat();
  const { message: whole, delta } = asObject(choice);
  return readGatewayCost(asObject(asObject(whole ?? delta).provider_metadata).gateway);
}

/** Returns the usage that a choice states. */
function usageOfChoices(message: PickedMembers): unknown {
  if (!message.text("choices")?.includes('"usage"')) return null;
  return [message.value("choices")]
    .flat()
    .map((choice) => asObject(choice).usage)
    .find(isObject);
}

function readBreakdown(models: readonly unknown[], answer: OpenaiAnswer): UsageReport[] {
  return models.map((entry, index) => {
    const { model, usage } = asObject(entry);
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

/** Whether a chunk with usage is the last one: it has no choices, or a finished choice. */
function isLastChunk(choices: unknown): boolean {
  return (
    Array.isArray(choices) &&
    (choices.length === 0 || choices.some((choice) => typeof asObject(choice).finish_reason === "string"))
  );
}
