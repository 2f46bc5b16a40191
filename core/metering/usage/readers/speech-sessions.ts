import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { addCounts, NO_TOKENS, readCount } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";
import { millisecondsOf, readTranscriptionUsage } from "./openai-audio.ts";

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

/** How many messages are searched for the model and the id of a session. The others are skipped unless they state usage. */
const MAX_FACT_LOOKUPS = 4;

/**
 * A WebSocket of Deepgram, AssemblyAI or ElevenLabs. Live sound has rates of its own, which no list has, so the calls are
 * unpriced. What is not stated is unknown.
 *
 * - Deepgram's transcription ends with `Metadata`, which has the `duration` of the sound in seconds. With several `channels` it
 *   is not stated how many are billed. Its turn-based speech (Flux) states the characters of each turn in `SpeechMetadata`, and
 *   of the session in `SessionMetadata`. Other speech, turn-based transcriptions and agents state nothing.
 * - AssemblyAI's transcription ends with `Termination`, whose `session_duration_seconds` is what is billed.
 * - ElevenLabs states nothing.
 *
 * Sources, read 2026-11-23: deepgram/deepgram-js-sdk, ListenV1Metadata, SpeakV1Metadata, SpeakV2SpeechMetadata,
 * SpeakV2SessionMetadata, ListenV2TurnInfo; AssemblyAI/assemblyai-node-sdk, TerminationEvent; assemblyai.com/docs, "Universal
 * Streaming"; elevenlabs/elevenlabs-js, SessionStartedMessage.
 */
export const liveSpeech = defineApiReader({
  members: [
    "type",
    "id",
    "request_id",
    "session_id",
    "metadata.request_id",
    "conversation_initiation_metadata_event.conversation_id",
    "model_name",
    "config.model_id",
    "metadata.model_info.arch",
    "duration",
    "channels",
    "session_duration_seconds",
    "audio_duration_seconds",
    "billable_character_count",
    "total_billable_character_count",
  ],
  keys: [
    "channels",
    "session_duration_seconds",
    "audio_duration_seconds",
    "billable_character_count",
    "total_billable_character_count",
  ],
  streamsByDefault: true,
  promptMembers: [],
  start: startLive,
});

function startLive({ routeModel }: AnswerFacts): MessageReader {
  let model = routeModel;
  let responseId: string | null = null;
  let lookups = 0;
  let milliseconds: number | null = null;
  let channels = 1;
  let characters: number | null = null;
  let allCharacters: number | null = null;
  return {
    knowsModel: () => lookups >= MAX_FACT_LOOKUPS || (model !== null && responseId !== null),
    read(message) {
      lookups++;
      const id = message.string("request_id") ?? message.string("metadata.request_id");
      const session =
        message.string("session_id") ??
        message.string("conversation_initiation_metadata_event.conversation_id") ??
        message.string("id");
      responseId ??= id ?? session;
      model ??= message.string("model_name") ?? message.string("config.model_id");
      model ??= message.string("metadata.model_info.arch");
      const type = message.string("type");
      if (type === "Metadata") {
        milliseconds = millisecondsOf(message.value("duration"));
        channels = readCount(message.value("channels")) ?? 1;
      }
      milliseconds =
        millisecondsOf(
          message.value("session_duration_seconds") ?? message.value("audio_duration_seconds"),
        ) ?? milliseconds;
      const turn = readCount(message.value("billable_character_count"));
      if (turn !== null) characters = addCounts(characters, turn);
      allCharacters = readCount(message.value("total_billable_character_count")) ?? allCharacters;
    },
    endsAnswer: () => false,
    end() {
      const extras: Record<string, number> = {};
      setExtra(extras, "live_audio_milliseconds", milliseconds);
      setExtra(extras, "billable_characters", allCharacters ?? characters);
      return {
        tokens: NO_TOKENS,
        tokensComplete: (milliseconds !== null && channels <= 1) || allCharacters !== null,
        model,
        responseId,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: null,
      };
    },
  };
}
