import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { addCounts, asObject, NO_TOKENS, readCount } from "../token-counts.ts";

/**
 * The text APIs of IBM watsonx.ai other than chat. Generation states `input_token_count` and `generated_token_count` in each
 * of its `results`; every event of a stream repeats the counts so far. Embeddings and reranking state one
 * `input_token_count` and have no output.
 *
 * Source: cloud.ibm.com/apidocs/watsonx-ai, "Infer text", "Generate embeddings", "Generate rerank"; 2026-11-23.
 */
export const watsonxText = defineApiReader({
  members: ["model_id", "results", "input_token_count"],
  keys: ["generated_token_count", "input_token_count"],
  streamsByDefault: null,
  promptMembers: ["input", "inputs", "query"],
  start: startText,
});

function startText(): MessageReader {
  let model: string | null = null;
  let input: number | null = null;
  let output: number | null = null;
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("model_id") ?? model;
      const whole = readCount(message.value("input_token_count"));
      if (whole !== null) [input, output] = [whole, 0];
      const results = message.value("results");
      if (!Array.isArray(results)) return;
      const counts = results.map(asObject);
      const inputs = counts.map(({ input_token_count }) => readCount(input_token_count));
      const outputs = counts.map(({ generated_token_count }) => readCount(generated_token_count));
      // The first event of a stream has the input, and later ones 0.
      input = largest(input, inputs);
      output = largest(output, outputs);
    },
    end: () => ({
      tokens: { ...NO_TOKENS, promptTokens: input, completionTokens: output },
      tokensComplete: input !== null && output !== null,
      model,
      responseId: null,
      serviceTier: null,
      extras: {},
      providerCostPicoUsd: null,
      unknownUsage: null,
    }),
  };
}

/** Returns the larger of a count and the sum of the stated counts; the count if none is stated or the sum is too large. */
function largest(known: number | null, counts: readonly (number | null)[]): number | null {
  const sum = counts.some((count) => count !== null) ? addCounts(...counts) : null;
  return sum === null || (known !== null && known > sum) ? known : sum;
}
