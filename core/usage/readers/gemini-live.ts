import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { membersOfValue } from "../member-picker.ts";
import { isObject } from "../token-counts.ts";
import { startGenerate } from "./gemini-generate.ts";

/**
 * Gemini Live (BidiGenerateContent), on Google's developer API and on Vertex: the messages of a WebSocket, JSON in text or
 * binary frames. They have no type and no id; the model stands in the client's `setup` alone.
 *
 * - `usageMetadata` may stand beside the content of any message. Each states one generation of the model, and all of them
 *   are billed: the context is read anew for each turn, and a turn with a call of a tool has two. So each makes a record,
 *   and none is cumulative, although the prompt grows from one to the next.
 * - The counts are those of generateContent, but for `responseTokenCount` and `responseTokensDetails`, which Vertex calls
 *   `candidates…` too. Thoughts come **on top** of the response, as there. `totalTokenCount` leaves them out in some
 *   answers and is not used: a prompt that is not stated is unknown.
 * - What the details by modality leave of a count is priced as text.
 * - Searches stand in `serverContent.groundingMetadata`.
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
  let isAnswered = false;
  return {
    knowsModel: () => true,
    read(message, whole) {
      const usage = message.value("usageMetadata");
      isAnswered = isObject(usage);
      generation.read(
        membersOfValue({
          candidates: [{ groundingMetadata: message.value("serverContent.groundingMetadata") }],
          usageMetadata: isObject(usage) ? asGenerated(usage) : null,
        }),
        whole,
      );
    },
    endsAnswer: () => isAnswered,
    end: generation.end,
  };
}

/** The usage with the names that generateContent gives it, and without its total. */
function asGenerated(usage: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { responseTokenCount, responseTokensDetails, totalTokenCount: _, ...rest } = usage;
  return {
    ...rest,
    candidatesTokenCount: responseTokenCount ?? usage.candidatesTokenCount,
    candidatesTokensDetails: responseTokensDetails ?? usage.candidatesTokensDetails,
  };
}
