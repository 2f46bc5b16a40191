import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { membersUnder } from "../member-picker.ts";
import { openaiChat } from "./openai-chat.ts";

const CHAT = ["id", "model", "usage", "choices"] as const;

/**
 * Chat completions that are requested by one call and fetched by later ones.
 *
 * - xAI's deferred completions: the fetch returns the chat completion itself, or 202 without one. The path has the id of the
 *   request, which is what the first call returned.
 * - Perplexity's: both calls return the request with its `id` and `status`, and the chat completion under `response` when it
 *   is complete.
 *
 * The call that starts the work makes a record without counts, and the completed one completes it.
 * Sources, read 2026-11-23: docs.x.ai, "Deferred Chat Completions"; @perplexity-ai/perplexity_ai 0.38.5, generated/api.d.ts:
 * AsyncApiChatCompletionsResponse.
 */
export const deferredChat = defineApiReader({
  members: ["status", ...CHAT, ...CHAT.map((member) => `response.${member}`)],
  keys: ["usage"],
  promptMembers: ["messages"],
  promptContainer: "request",
  start: startDeferred,
});

function startDeferred(facts: AnswerFacts): MessageReader {
  const chat = openaiChat.start(facts);
  let requestId = facts.routeId;
  let hasUsage = false;
  return {
    read(message, whole) {
      requestId ??= message.string("id");
      const below = message.text("response.usage") !== null;
      hasUsage ||= below || message.text("usage") !== null;
      chat.read(below ? membersUnder(message, "response") : message, whole);
    },
    end(ended) {
      const found = chat.end(ended);
      return {
        ...found,
        responseId: requestId,
        ...(facts.fetches ? {} : { startsJob: true }),
        ...(facts.fetches && !hasUsage ? { noRecord: "unfinished" as const } : {}),
      };
    },
  };
}
