import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { readStatedCost } from "../stated-cost.ts";
import { asObject, firstCount, NO_TOKENS, readCount } from "../token-counts.ts";
import { unknownUsage } from "../unknown-usage.ts";
import { setExtra, setPartExtra } from "../usage-extras.ts";

const KNOWN = {
  prompt_tokens: true,
  input_tokens: true,
  completion_tokens: true,
  total_tokens: true,
  prompt_tokens_details: {
    text_tokens: true,
    image_tokens: true,
    audio_tokens: true,
    video_tokens: true,
    cached_tokens: true,
  },
  // Voyage's multimodal embeddings.
  text_tokens: true,
  image_pixels: true,
  video_pixels: true,
  cost: true,
  cost_in_usd_ticks: true,
} as const;

/**
 * OpenAI Embeddings and compatible hosts. The only count is `usage.prompt_tokens`, or the equal `total_tokens`. An embedding
 * has no output, so the completion count is 0 and not unknown. A larger total leaves the usage incomplete.
 *
 * Multimodal embeddings state their media in `prompt_tokens_details`. Voyage states pixels, which have their own price, next to
 * `text_tokens`; the tokens of the medium are the rest of the total (docs.voyageai.com, "Multimodal Embeddings").
 */
export const openaiEmbeddings = defineApiReader({
  members: ["id", "model", "usage"],
  keys: ["usage"],
  streamsByDefault: null,
  promptMembers: ["input"],
  start: startEmbeddings,
});

function startEmbeddings({ provider }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: unknown;
  let usageText: string | null = null;
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("model") ?? model;
      responseId = message.string("id") ?? responseId;
      usage = message.value("usage") ?? usage;
      usageText = message.text("usage") ?? usageText;
    },
    end() {
      const { prompt_tokens, input_tokens, completion_tokens, total_tokens } = asObject(usage);
      const input = firstCount(prompt_tokens, input_tokens, total_tokens);
      return {
        tokens: input === null ? NO_TOKENS : { ...NO_TOKENS, promptTokens: input, completionTokens: 0 },
        tokensComplete:
          input !== null && (readCount(total_tokens) ?? 0) <= input + (readCount(completion_tokens) ?? 0),
        model,
        responseId,
        serviceTier: null,
        extras: mediaOf(asObject(usage), input),
        providerCostPicoUsd: isObject(usage) ? readStatedCost(provider, usageText) : null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}

/** Returns the tokens of each medium, which have their own rates in an embedding. */
function mediaOf(usage: Readonly<Record<string, unknown>>, input: number | null): Record<string, number> {
  const extras: Record<string, number> = {};
  const details = asObject(usage.prompt_tokens_details);
  for (const medium of ["image", "audio", "video"] as const)
    setPartExtra(extras, `${medium}_input_tokens`, details[`${medium}_tokens`], input);
  const text = readCount(usage.text_tokens);
  if (input === null || text === null || text > input) return extras;
  if ((readCount(usage.image_pixels) ?? 0) > 0) setExtra(extras, "image_input_tokens", input - text);
  else if ((readCount(usage.video_pixels) ?? 0) > 0) setExtra(extras, "video_input_tokens", input - text);
  return extras;
}
