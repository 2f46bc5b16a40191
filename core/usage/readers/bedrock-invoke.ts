import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { membersBelow } from "../member-picker.ts";
import { isObject, NO_TOKENS, readCount } from "../token-counts.ts";
import type { UsageFindings } from "../usage-report.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { bedrockConverse, bedrockModel } from "./bedrock-converse.ts";
import { openaiChat } from "./openai-chat.ts";

const METRICS = "amazon-bedrock-invocationMetrics";

/**
 * Bedrock InvokeModel, whole or as an event stream of `chunk` events, whose `bytes` (Base64) are the events of the
 * model's own API. What they state is read where it is known, since it alone splits the cache:
 *
 * - Claude: Anthropic Messages' `usage`. Nova: Converse's. Open-weight models of OpenAI's, DeepSeek's and others': Chat's.
 * - Every other model (Titan, Llama, Cohere, …): what Bedrock counted, in the headers `x-amzn-bedrock-input-token-count`
 *   and `-output-token-count` of a whole answer, or in `amazon-bedrock-invocationMetrics` of a stream's last event.
 *   Bedrock's input count is **exclusive** of cache reads and writes, which it counts beside it.
 *
 * The model is the path's, as it decides the price; see `bedrockModel`.
 */
export const bedrockInvoke = defineApiReader({
  members: [
    "id",
    "model",
    "usage",
    "delta",
    "choices",
    "message.id",
    "message.model",
    "message.usage",
    "metadata.usage",
    METRICS,
  ],
  keys: ["usage", METRICS],
  framing: "event_stream",
  promptMembers: ["system", "messages", "prompt", "inputText"],
  start: startInvoke,
});

function startInvoke(facts: AnswerFacts): MessageReader {
  const { routeModel, header } = facts;
  let native: MessageReader | null = null;
  let metrics: Readonly<Record<string, unknown>> = {};
  let answeredModel: string | null = null;
  return {
    knowsModel: () => true,
    read(message, whole) {
      answeredModel = message.string("message.model") ?? message.string("model") ?? answeredModel;
      const stated = message.value(METRICS);
      if (isObject(stated)) metrics = stated;
      const inMetadata = message.value("metadata.usage");
      const usage = message.value("message.usage") ?? message.value("usage") ?? inMetadata;
      if (!isObject(usage)) return;
      native ??= readerFor(usage)?.start(facts) ?? null;
      native?.read(usage === inMetadata ? membersBelow(message, "metadata") : message, whole);
    },
    end(ended) {
      const model = bedrockModel(routeModel) ?? answeredModel;
      const found = native?.end(ended);
      const counted = found?.tokens.promptTokens == null ? bedrockCounts(metrics, header) : found;
      return { ...counted, model, responseId: counted.responseId ?? header("x-amzn-requestid") };
    },
  };
}

/** Whose usage object this is, as its members tell. */
function readerFor(usage: Readonly<Record<string, unknown>>): typeof anthropicMessages | null {
  if (usage.inputTokens !== undefined) return bedrockConverse;
  if (usage.input_tokens !== undefined || usage.output_tokens !== undefined) return anthropicMessages;
  return usage.prompt_tokens === undefined ? null : openaiChat;
}

function bedrockCounts(
  metrics: Readonly<Record<string, unknown>>,
  header: AnswerFacts["header"],
): UsageFindings {
  const count = (name: string, headerName: string): number | null => {
    const text = header(`x-amzn-bedrock-${headerName}-token-count`) ?? "";
    return readCount(metrics[name]) ?? (/^\d{1,15}$/.test(text) ? Number(text) : null);
  };
  const input = count("inputTokenCount", "input");
  const output = count("outputTokenCount", "output");
  return {
    tokens: {
      ...NO_TOKENS,
      promptTokens: input,
      cacheReadTokens: count("cacheReadInputTokenCount", "cache-read-input"),
      cacheWriteTokens: count("cacheWriteInputTokenCount", "cache-write-input"),
      // An embedding is stated with an output of 0, or with none.
      completionTokens: output ?? (input === null ? null : 0),
    },
    tokensComplete: input !== null,
    model: null,
    responseId: null,
    serviceTier: header("x-amzn-bedrock-service-tier"),
    extras: {},
    providerCostPicoUsd: null,
    unknownUsage: null,
  };
}
