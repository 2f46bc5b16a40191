import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { pickedFromValue } from "../member-picker.ts";
import { startGenerate } from "./gemini-generate.ts";

/**
 * Gemini Live (BidiGenerateContent) in Google's developer API and Vertex: WebSocket messages, as JSON in text or binary frames.
 * They have no type and no id. Only the client's `setup` names the model.
 *
 * - Any message may contain `usageMetadata`. Each one states one generation, and every generation is billed: each turn reads
 *   the whole context again, and a turn with a tool call has two generations. So each makes a record. The counts are not
 *   cumulative, although the prompt grows with each turn.
 * - The counts are those of generateContent, except that `responseTokenCount` and `responseTokensDetails` replace
 *   `candidates…`, which Vertex also uses. The response is **exclusive** of thoughts. `totalTokenCount` omits thoughts in
 *   some messages and is not used, so an unstated prompt count is unknown.
 * - Tokens without a stated modality are priced as text.
 * - Searches are in `serverContent.groundingMetadata`.
 *
 * Sources, read 2026-11-21: ai.google.dev/api/live ("Server messages", "UsageMetadata"); @google/genai 3.1.0, dist/genai.d.ts
 * (UsageMetadata, LiveServerMessage); ai.google.dev/gemini-api/docs/live-api/best-practices ("Pricing and billing").
 */
export const geminiLive = defineApiReader({
  members: ["usageMetadata", "serverContent.groundingMetadata"],
  keys: ["usageMetadata", "webSearchQueries"],
  streamsByDefault: true,
  promptMembers: [],
  start: startLive,
});

function startLive(facts: AnswerFacts): MessageReader {
  const generation = startGenerate(facts);
  let hasUsage = false;
  return {
    read(message, whole) {
      const usage = message.value("usageMetadata");
      hasUsage = isObject(usage);
      generation.read(
        pickedFromValue({
          candidates: [{ groundingMetadata: message.value("serverContent.groundingMetadata") }],
          usageMetadata: isObject(usage) ? toGenerateContentUsage(usage) : null,
        }),
        whole,
      );
    },
    endsAnswer: () => hasUsage,
    end: generation.end,
  };
}

/** Converts a usage object to the member names of generateContent, without the total. */
function toGenerateContentUsage(usage: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { responseTokenCount, responseTokensDetails, totalTokenCount: _, ...rest } = usage;
  return {
    ...rest,
    candidatesTokenCount: responseTokenCount ?? usage.candidatesTokenCount,
    candidatesTokensDetails: responseTokensDetails ?? usage.candidatesTokensDetails,
  };
}
