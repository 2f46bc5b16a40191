import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import type { UsageFindings } from "../usage-report.ts";
import { readTranscriptionUsage } from "./openai-audio.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

const RESPONSE_DONE = "response.done";
const TRANSCRIPTION_DONE = "conversation.item.input_audio_transcription.completed";

/**
 * OpenAI Realtime: the messages of a WebSocket, of which two state usage.
 *
 * - `response.done`, once for each response, in `response.usage`; see `readOpenaiUsage` for what the totals include. Text,
 *   audio and image are split twice: for all input in `input_token_details`, and for the part of it that the cache had
 *   in its `cached_tokens_details`.
 * - `conversation.item.input_audio_transcription.completed`, in `usage`, as tokens or as a time: the transcription is
 *   another model's and is billed at its price, which the session names.
 *
 * The model stands in `session.created` and `session.updated` (`session.model`), not in the response.
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
    knowsModel: () => true,
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
    // The session outlives its responses.
    next() {
      findings = null;
      return reader;
    },
  };
  return reader;
}
