import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { isObject } from "../token-counts.ts";
import { readTranscriptionUsage } from "./openai-audio.ts";

/**
 * A WebSocket that carries one transcription, translation or speech: all its messages make one record.
 *
 * - Mistral's realtime transcription ends with `transcription.done`, which has the `usage` and the model. `session.created`
 *   names the model before.
 * - xAI's `transcript.done` states the `duration` of the sound in seconds. Its speech states nothing.
 * - OpenAI's realtime translations and Google's music (BidiGenerateMusic) are billed by time and state nothing.
 *
 * Sources, read 2026-11-23: @mistralai/mistralai 2.7.0, extra/realtime, components: TranscriptionStreamDone; docs.x.ai, "Speech to
 * Text"; openai 6.49.0, resources/realtime/realtime.d.ts: RealtimeTranslationServerEvent.
 */
export const speechSession = defineApiReader({
  members: ["model", "session.model", "usage", "duration"],
  keys: ["usage", "duration", "session"],
  streamsByDefault: true,
  promptMembers: [],
  start: startSession,
});

function startSession(facts: AnswerFacts): MessageReader {
  let model = facts.routeModel;
  let usage: unknown;
  let usageText: string | null = null;
  let duration: unknown;
  return {
    read(message) {
      model = message.string("model") ?? message.string("session.model") ?? model;
      duration = message.value("duration") ?? duration;
      if (!isObject(message.value("usage"))) return;
      usage = message.value("usage");
      usageText = message.text("usage");
    },
    endsAnswer: () => false,
    end: () => readTranscriptionUsage(facts, { model, responseId: null }, usage, usageText, duration),
  };
}
