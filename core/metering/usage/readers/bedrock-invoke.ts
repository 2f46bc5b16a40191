import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { membersUnder, type PickedMembers } from "../member-picker.ts";
import { asObject, firstCount, NO_TOKENS, readCount } from "../token-counts.ts";
import type { UsageFindings } from "../usage-report.ts";
import { bedrockModel } from "./bedrock-converse.ts";
import { readerForUsage } from "./usage-shapes.ts";

const METRICS = "amazon-bedrock-invocationMetrics";

/**
 * Bedrock InvokeModel, as a single body or as an event stream of `chunk` events whose `bytes` (Base64) are events of the
 * model's own API. The native usage is preferred if it is supported, because only it splits the cache:
 *
 * - Claude: the `usage` of Anthropic Messages. Nova: that of Converse. Open-weight models (OpenAI, DeepSeek and others): that
 *   of Chat Completions.
 * - Every other model (Titan, Llama, Cohere, …): Bedrock's own counts. They are in the headers
 *   `x-amzn-bedrock-input-token-count` and `-output-token-count`, or in `amazon-bedrock-invocationMetrics` of the last stream
 *   event. Without either, Llama's `prompt_token_count` and `generation_token_count` and Titan's `inputTextTokenCount` and
 *   `results[0].tokenCount` are read. Bedrock's input count is **exclusive** of cache reads and writes, which have their own counts.
 *
 * The model is taken from the path, because it determines the price; see `bedrockModel`.
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
    "prompt_token_count",
    "generation_token_count",
    "inputTextTokenCount",
    "results",
  ],
  keys: ["usage", METRICS, "generation_token_count"],
  framing: "event_stream",
  promptMembers: ["system", "messages", "prompt", "inputText"],
  start: startInvoke,
});

function startInvoke(facts: AnswerFacts): MessageReader {
  const { routeModel, header } = facts;
  let native: MessageReader | null = null;
  let metrics: Readonly<Record<string, unknown>> = {};
  let ownCounts: OwnCounts = {};
  let answeredModel: string | null = null;
  return {
    read(message, whole) {
      answeredModel = message.string("message.model") ?? message.string("model") ?? answeredModel;
      const stated = message.value(METRICS);
      if (isObject(stated)) metrics = stated;
      ownCounts = { ...ownCounts, ...readOwnCounts(message) };
      const inMetadata = message.value("metadata.usage");
      const usage = message.value("message.usage") ?? message.value("usage") ?? inMetadata;
      if (!isObject(usage)) return;
      native ??= readerForUsage(usage)?.start(facts) ?? null;
      native?.read(usage === inMetadata ? membersUnder(message, "metadata") : message, whole);
    },
    end(ended) {
      const model = bedrockModel(routeModel) ?? answeredModel;
      const found = native?.end(ended);
      const counted = found?.tokens.promptTokens == null ? bedrockCounts(metrics, header, ownCounts) : found;
      return { ...counted, model, responseId: counted.responseId ?? header("x-amzn-requestid") };
    },
  };
}

/** The counts in the bodies of Llama and Titan. */
interface OwnCounts {
  readonly input?: number;
  readonly output?: number;
}

function readOwnCounts(message: PickedMembers): OwnCounts {
  const input = firstCount(message.value("prompt_token_count"), message.value("inputTextTokenCount"));
  const [first] = [message.value("results")].flat();
  const output = firstCount(message.value("generation_token_count"), asObject(first).tokenCount);
  return { ...(input !== null && { input }), ...(output !== null && { output }) };
}

function bedrockCounts(
  metrics: Readonly<Record<string, unknown>>,
  header: AnswerFacts["header"],
  own: OwnCounts,
): UsageFindings {
  const count = (name: string, headerName: string): number | null => {
    const text = header(`x-amzn-bedrock-${headerName}-token-count`) ?? "";
    return readCount(metrics[name]) ?? (/^\d{1,15}$/.test(text) ? Number(text) : null);
  };
  const input = count("inputTokenCount", "input") ?? own.input ?? null;
  const output = count("outputTokenCount", "output") ?? own.output ?? null;
  return {
    tokens: {
      ...NO_TOKENS,
      promptTokens: input,
      cacheReadTokens: count("cacheReadInputTokenCount", "cache-read-input"),
      cacheWriteTokens: count("cacheWriteInputTokenCount", "cache-write-input"),
      // Embeddings have no output count, or an output count of 0.
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
