import { isObject } from "../../../values/json-object.ts";
import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { firstCount, NO_TOKENS } from "../token-counts.ts";
import { unknownUsage } from "../unknown-usage.ts";
import { setPartExtra } from "../usage-extras.ts";
import { GEMINI_MEDIA, modalityCount } from "./gemini-modalities.ts";

const KNOWN = {
  promptTokenCount: true,
  totalTokenCount: true,
  promptTokenDetails: true,
  promptTokensDetails: true,
} as const;

/**
 * Gemini's embedContent and batchEmbedContents. Newer models state `usageMetadata.promptTokenCount`; older ones state no usage,
 * and their counts are unknown. An embedding has no output, so the completion count is 0.
 * Images, audio and video have their own rates. The developer API states their tokens in `promptTokenDetails`
 * (BerriAI/litellm#33681), Vertex in `promptTokensDetails`.
 * Decision: the prompt hash covers `{content}` or `{requests}`, which correspond to `input` in other APIs.
 */
export const geminiEmbed = defineApiReader({
  members: ["usageMetadata", "modelVersion", "responseId"],
  keys: ["usageMetadata"],
  streamsByDefault: null,
  promptMembers: ["content", "requests"],
  start: startEmbed,
});

function startEmbed(): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: Readonly<Record<string, unknown>> = {};
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("modelVersion") ?? model;
      responseId = message.string("responseId") ?? responseId;
      const stated = message.value("usageMetadata");
      if (isObject(stated)) usage = stated;
    },
    end() {
      const input = firstCount(usage.promptTokenCount, usage.totalTokenCount);
      const details = usage.promptTokenDetails ?? usage.promptTokensDetails;
      const extras: Record<string, number> = {};
      for (const [medium, modalities] of GEMINI_MEDIA)
        setPartExtra(extras, `${medium}_input_tokens`, modalityCount(details, modalities), input);
      return {
        tokens: input === null ? NO_TOKENS : { ...NO_TOKENS, promptTokens: input, completionTokens: 0 },
        tokensComplete: input !== null,
        model,
        responseId,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}
