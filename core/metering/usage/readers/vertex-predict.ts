import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { addCounts, firstCount, NO_TOKENS } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";

/**
 * Vertex's `:predict` for text embedding and image generation models. The path names the model, and each of the `predictions`
 * states its usage. There may be megabytes of predictions, so they are read one by one and not buffered.
 *
 * - An embedding states the tokens of its text (`embeddings.statistics.token_count`). The input is their sum, and there is no
 *   output. If one states none, the sum is unknown. `metadata.billableCharacterCount`, by which older models are billed, is
 *   in the extras and does not affect the price.
 * - Each generated image is a prediction with a `mimeType`. A filtered image has a `raiFilteredReason` instead, or is missing.
 *   Images are billed by number. The bundled rates have no such price, so the call is unpriced.
 *
 * Sources, read 2026-11-21: docs.cloud.google.com, "Text embeddings API", TextEmbedding, VisionGenerativeModelResult;
 * @google/genai 3.1.0, dist/genai.d.ts: ContentEmbeddingStatistics, EmbedContentMetadata.
 */
export const vertexPredict = defineApiReader({
  members: ["metadata.billableCharacterCount"],
  elements: {
    array: "predictions",
    members: [
      "embeddings.statistics.token_count",
      "embeddings.statistics.tokenCount",
      "mimeType",
      "raiFilteredReason",
    ],
  },
  keys: ["predictions"],
  streamsByDefault: null,
  promptMembers: ["instances"],
  start: startPredict,
});

function startPredict(): MessageReader {
  let tokens: number | null = null;
  let isUnstated = false;
  let images = 0;
  let characters: unknown;
  let isClosed = false;
  return {
    element(prediction) {
      if (prediction.string("mimeType") !== null) images++;
      else if (prediction.string("raiFilteredReason") === null) {
        const count = firstCount(
          prediction.value("embeddings.statistics.token_count"),
          prediction.value("embeddings.statistics.tokenCount"),
        );
        if (count === null) isUnstated = true;
        else tokens = addCounts(tokens, count);
      }
    },
    read(message) {
      characters = message.value("metadata.billableCharacterCount");
      isClosed = message.closed;
    },
    end() {
      const extras: Record<string, number> = {};
      setExtra(extras, "generated_images", images);
      setExtra(extras, "billable_characters", characters);
      const input = isUnstated ? null : tokens;
      return {
        tokens: input === null ? NO_TOKENS : { ...NO_TOKENS, promptTokens: input, completionTokens: 0 },
        tokensComplete: isClosed && (input !== null || images > 0),
        model: null,
        responseId: null,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: null,
      };
    },
  };
}
