import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import type { UsageFindings } from "../usage-report.ts";
import { readTranscriptionUsage } from "./openai-audio.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

const RESPONSE_DONE = "response.done";
const TRANSCRIPTION_DONE = "conversation.item.input_audio_transcription.completed";

/**
 * OpenAI Realtime: the messages of a WebSocket. Two of them state usage.
 *
 * - `response.done` has `response.usage`, once per response. See `readOpenaiUsage` for what the totals include. Text, audio
 *   and image tokens are stated for all input in `input_token_details`, and for cached input in its `cached_tokens_details`.
 * - `conversation.item.input_audio_transcription.completed` has `usage`, as tokens or as a duration. The transcription is
 *   billed at the price of its own model, which the session names.
 *
 * `session.created` and `session.updated` name the model (`session.model`); the response does not.
 */
export const openaiRealtime = defineApiReader({
  members: [
    "type",
    "item_id",
    "content_index",
    "usage",
    "session.model",
    "session.audio.input.transcription.model",
    "session.input_audio_transcription.model",
    "response.id",
    "response.usage",
    "response.status_details.error",
  ],
  keys: ["usage", "session"],
  streamsByDefault: true,
  promptMembers: ["instructions", "input"],
  finishTypes: [RESPONSE_DONE, TRANSCRIPTION_DONE],
  start: startRealtime,
});

function startRealtime(facts: AnswerFacts): MessageReader {
  let model = facts.routeModel;
  let transcriptionModel: string | null = null;
  let findings: UsageFindings | null = null;

  const around = (responseId: string | null) => ({
    provider: facts.provider,
    model,
    responseId,
    serviceTier: null,
    final: true,
    style: "responses" as const,
  });
  const reader: MessageReader = {
    read(message) {
      model = message.string("session.model") ?? model;
      transcriptionModel =
        message.string("session.audio.input.transcription.model") ??
        message.string("session.input_audio_transcription.model") ??
        transcriptionModel;
      const type = message.string("type");
      if (type === RESPONSE_DONE)
        findings = readOpenaiUsage({
          ...around(message.string("response.id")),
          usage: message.value("response.usage"),
          usageText: message.text("response.usage"),
        });
      else if (type === TRANSCRIPTION_DONE) {
        const id = message.string("item_id");
        const part = message.value("content_index");
        const answer = {
          model: transcriptionModel,
          responseId: id === null ? null : `${id}/${typeof part === "number" ? part : 0}`,
        };
        const usage = message.value("usage");
        findings = {
          ...readTranscriptionUsage(facts, answer, usage, message.text("usage"), null),
          requestKind: "audio",
        };
      }
    },
    end: () => findings ?? readOpenaiUsage({ ...around(null), usage: undefined, usageText: null }),
    // The session continues after each response.
    next() {
      findings = null;
      return reader;
    },
  };
  return reader;
}
