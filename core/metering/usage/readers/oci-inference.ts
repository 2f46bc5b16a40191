import { isObject } from "../../../values/json-object.ts";
import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { asObject, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";

const KNOWN: KnownMembers = {
  promptTokens: true,
  completionTokens: true,
  totalTokens: true,
  promptTokensDetails: { cachedTokens: true },
  completionTokensDetails: {
    reasoningTokens: true,
    acceptedPredictionTokens: true,
    rejectedPredictionTokens: true,
  },
};

/** Paths of the usage: chat, embeddings and the last event of a stream. */
const PATHS = ["chatResponse.usage", "inferenceResponse.usage", "usage"] as const;

/**
 * The inference API of OCI Generative AI. `usage` states `promptTokens` and `completionTokens` in camel case, inclusive of
 * `cachedTokens` and `reasoningTokens`. A stream states it in its last event. Embeddings and reranking have no output.
 *
 * Source: docs.oracle.com/en-us/iaas/api/#/en/generative-ai-inference/20231130, Usage; 2026-11-23.
 */
export const ociInference = defineApiReader({
  members: [...PATHS, "modelId"],
  keys: ["usage"],
  streamsByDefault: false,
  promptMembers: ["messages", "message", "prompt", "inputs", "input", "documents"],
  promptContainer: "chatRequest",
  start: startInference,
});

function startInference(): MessageReader {
  let model: string | null = null;
  let usage: unknown;
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("modelId") ?? model;
      for (const path of PATHS) {
        const stated = message.value(path);
        if (isObject(stated)) usage = stated;
      }
    },
    end() {
      const { promptTokens, completionTokens, promptTokensDetails, completionTokensDetails, totalTokens } =
        asObject(usage);
      const input = readCount(promptTokens);
      const stated = readCount(completionTokens);
      const output = stated ?? (input !== null && input === readCount(totalTokens) ? 0 : null);
      const inputs = splitTotal(input, [readCount(asObject(promptTokensDetails).cachedTokens)]);
      const outputs = splitTotal(output, [readCount(asObject(completionTokensDetails).reasoningTokens)]);
      return {
        tokens: {
          ...NO_TOKENS,
          promptTokens: inputs.rest,
          cacheReadTokens: inputs.parts[0] ?? null,
          completionTokens: outputs.rest,
          thinkingTokens: outputs.parts[0] ?? null,
        },
        tokensComplete: input !== null && output !== null && inputs.consistent && outputs.consistent,
        model,
        responseId: null,
        serviceTier: null,
        extras: {},
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}
