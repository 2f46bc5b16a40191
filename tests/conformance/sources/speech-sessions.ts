import type { DocumentSource } from "../case-format.ts";
import { defineApi, type RecordSpec, type WireCase } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { closeFrame, concat, jsonText, upgradeAnswer, upgradeRequest, webSocketFrame } from "./wire.ts";

/** WebSockets that carry one transcription, translation or speech, and one with the events of OpenAI's Realtime API. */

const cases: WireCase[] = [];

interface Session {
  folder: string;
  name: string;
  about: string;
  provider: string;
  host: string;
  path: string;
  source: DocumentSource;
  pathModel?: string | undefined;
  sent: readonly unknown[];
  received: readonly unknown[];
  records: RecordSpec | null;
}

function add(session: Session): void {
  const { folder, name, about, provider, host, path, source, pathModel, sent, received, records } = session;
  const api = defineApi({
    folder,
    provider,
    host,
    method: "GET",
    path,
    request: {},
    source,
    ...(pathModel === undefined ? {} : { pathModel }),
    id: null,
  });
  api.addBytes(
    name,
    about,
    {
      request: concat(
        upgradeRequest(host, path, ""),
        ...sent.map((message) => webSocketFrame(jsonText(message), { masked: true })),
      ),
      response: concat(
        upgradeAnswer(""),
        ...received.map((message) => webSocketFrame(jsonText(message))),
        closeFrame,
      ),
    },
    records === null ? null : { status: 101, streaming: true, ...records },
  );
  cases.push(...api.cases);
}

add({
  folder: "speech-sessions",
  name: "mistral-transcription",
  about: "The last message has the model and the usage: the tokens of the sound, and its seconds.",
  provider: "mistral",
  host: "api.mistral.ai",
  path: "/v1/audio/transcriptions/realtime?model=voxtral-mini-transcribe-realtime-2602",
  source: DOCUMENTS.mistralRealtime,
  pathModel: "voxtral-mini-transcribe-realtime-2602",
  sent: [{ type: "input_audio.append", audio: "AAAA" }, { type: "input_audio.end" }],
  received: [
    {
      type: "session.created",
      session: { request_id: "r", model: "voxtral-mini-transcribe-realtime-2602" },
    },
    { type: "transcription.text.delta", text: "Rain." },
    {
      type: "transcription.done",
      model: "voxtral-mini-transcribe-realtime-2602",
      text: "Rain.",
      language: null,
      usage: { prompt_tokens: 30, completion_tokens: 4, total_tokens: 34, prompt_audio_seconds: 2 },
    },
  ],
  records: { tokens: { prompt: 30, completion: 4 }, extras: { audio_milliseconds: 2000 } },
});
add({
  folder: "speech-sessions",
  name: "xai-transcription",
  about: "The end of a transcription states the duration of the sound.",
  provider: "xai",
  host: "api.x.ai",
  path: "/v1/stt?sample_rate=16000",
  source: DOCUMENTS.xaiVoice,
  sent: [{ type: "audio.done" }],
  received: [
    { type: "transcript.created" },
    { type: "transcript.partial", text: "Ra", is_final: false },
    { type: "transcript.done", text: "Rain.", duration: 1.5 },
  ],
  records: { requestedModel: null, complete: true, extras: { audio_milliseconds: 1500 } },
});
add({
  folder: "speech-sessions",
  name: "openai-translation",
  about: "A translation is billed by time and states nothing: one record with unknown tokens.",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/realtime/translations?model=gpt-realtime-translate",
  source: DOCUMENTS.openaiTranslation,
  pathModel: "gpt-realtime-translate",
  sent: [{ type: "session.input_audio_buffer.append", audio: "AAAA" }, { type: "session.close" }],
  received: [
    {
      type: "session.created",
      session: { id: "sess_1", type: "translation", model: "gpt-realtime-translate" },
    },
    { type: "session.output_transcript.delta", delta: "Regen." },
    { type: "session.closed" },
  ],
  records: {},
});
add({
  folder: "speech-sessions",
  name: "unanswered",
  about: "A session without a message from the provider makes no record.",
  provider: "xai",
  host: "api.x.ai",
  path: "/v1/tts",
  source: DOCUMENTS.xaiVoice,
  sent: [{ type: "text.done" }],
  received: [],
  records: null,
});
add({
  folder: "azure-foundry",
  name: "voice-live",
  about: "Voice Live has the events of OpenAI's Realtime API, with any of Azure's models.",
  provider: "azure",
  host: "acme.services.ai.azure.com",
  path: "/voice-live/realtime?api-version=2025-10-01&model=gpt-4o",
  source: DOCUMENTS.azureVoiceLive,
  pathModel: "gpt-4o",
  sent: [{ type: "response.create" }],
  received: [
    { type: "session.created", session: { id: "sess_1", model: "gpt-4o" } },
    { type: "response.created", response: { id: "resp_VoiceLive0000000001", status: "in_progress" } },
    {
      type: "response.done",
      response: {
        id: "resp_VoiceLive0000000001",
        status: "completed",
        usage: {
          total_tokens: 110,
          input_tokens: 100,
          output_tokens: 10,
          input_token_details: { text_tokens: 100, audio_tokens: 0, cached_tokens: 0 },
          output_token_details: { text_tokens: 10, audio_tokens: 0 },
        },
      },
    },
  ],
  records: {
    id: "resp_VoiceLive0000000001",
    tokens: { prompt: 100, cache_read: 0, completion: 10 },
    cost: { input: "2.5", output: "10", cacheRead: "1.25" },
  },
});

const dgRequest = "dg-live-1";
const results = (start: number, duration: number) => ({
  type: "Results",
  channel_index: [0, 1],
  duration,
  start,
  is_final: true,
  channel: { alternatives: [{ transcript: "Rain.", confidence: 0.99, words: [] }] },
  metadata: {
    request_id: dgRequest,
    model_info: { name: "general-nova-3", version: "2025-04-17.21547", arch: "nova-3" },
    model_uuid: "u",
  },
});
const metadata = (channels: number) => ({
  type: "Metadata",
  transaction_key: "deprecated",
  request_id: dgRequest,
  sha256: "0".repeat(64),
  created: "2026-11-21T12:00:00Z",
  duration: 12.5,
  channels,
});
const deepgram = {
  folder: "live-speech",
  provider: "deepgram",
  host: "api.deepgram.com",
  path: "/v1/listen?model=nova-3",
  source: DOCUMENTS.deepgramLive,
  pathModel: "nova-3",
  sent: [{ type: "CloseStream" }],
} as const;
add({
  ...deepgram,
  name: "deepgram-listen",
  about:
    "The last message states the duration of all sound; each result states only its own. Live sound has no known price.",
  received: [results(0, 3.2), results(3.2, 4.1), metadata(1)],
  records: { id: dgRequest, complete: true, extras: { live_audio_milliseconds: 12500 } },
});
add({
  ...deepgram,
  name: "deepgram-listen-channels",
  about: "With two channels, nothing states whether one is billed or both.",
  received: [results(0, 3.2), metadata(2)],
  records: { id: dgRequest, extras: { live_audio_milliseconds: 12500 } },
});
add({
  ...deepgram,
  name: "deepgram-listen-cut",
  about:
    "A session without its last message: seen, with an unknown duration. Without a parameter, a result names the model.",
  path: "/v1/listen?encoding=linear16",
  pathModel: undefined,
  received: [results(0, 3.2)],
  records: { id: dgRequest, model: "nova-3", requestedModel: null },
});
add({
  ...deepgram,
  name: "deepgram-speak",
  about: "Speech states its model and not its characters.",
  path: "/v1/speak?model=aura-2-thalia-en",
  pathModel: "aura-2-thalia-en",
  source: DOCUMENTS.deepgramSpeak,
  sent: [{ type: "Speak", text: "Rain." }, { type: "Flush" }],
  received: [
    {
      type: "Metadata",
      request_id: dgRequest,
      model_name: "aura-2-thalia-en",
      model_version: "2025-04-07.0",
      model_uuid: "u",
    },
    { type: "Flushed", sequence_id: 0 },
  ],
  records: { id: dgRequest },
});
const turn = (billable: number) => ({
  type: "SpeechMetadata",
  speech_id: "s",
  audio_duration_ms: 1200,
  input_character_count: billable + 25,
  billable_character_count: billable,
  controls_applied: { pronunciations_applied: 0, breaks_applied: 0, pronunciation_warnings: 0 },
});
const flux = {
  ...deepgram,
  path: "/v2/speak?model=flux-haley-en",
  pathModel: "flux-haley-en",
  source: DOCUMENTS.deepgramFlux,
  sent: [{ type: "Speak", text: "Rain." }, { type: "Flush" }, { type: "Close" }],
};
const connected = {
  type: "Connected",
  request_id: dgRequest,
  model_name: "flux-haley-en",
  model_version: "1",
  model_uuids: ["u"],
};
add({
  ...flux,
  name: "deepgram-flux-speak",
  about: "Turn-based speech states the billable characters of the session at its end.",
  received: [
    connected,
    turn(62),
    turn(40),
    {
      type: "SessionMetadata",
      total_audio_duration_ms: 2400,
      total_input_character_count: 152,
      total_billable_character_count: 102,
    },
  ],
  records: { id: dgRequest, complete: true, extras: { billable_characters: 102 } },
});
add({
  ...flux,
  name: "deepgram-flux-speak-cut",
  about: "Without its end, the turns so far.",
  received: [connected, turn(62), turn(40)],
  records: { id: dgRequest, extras: { billable_characters: 102 } },
});
add({
  ...deepgram,
  name: "deepgram-flux-listen",
  about: "Turn-based transcription states where a turn is in the sound, and no total.",
  path: "/v2/listen?model=flux-general-en",
  pathModel: "flux-general-en",
  source: DOCUMENTS.deepgramFlux,
  received: [
    { type: "Connected", request_id: dgRequest, sequence_id: 0 },
    {
      type: "TurnInfo",
      request_id: dgRequest,
      sequence_id: 1,
      event: "EndOfTurn",
      turn_index: 0,
      audio_window_start: 0,
      audio_window_end: 2.4,
      transcript: "Rain.",
      words: [],
      end_of_turn_confidence: 0.9,
    },
  ],
  records: { id: dgRequest },
});
add({
  ...deepgram,
  name: "deepgram-agent",
  about: "A voice agent is billed by the time of the connection and states nothing.",
  host: "agent.deepgram.com",
  path: "/v1/agent/converse",
  pathModel: undefined,
  source: DOCUMENTS.deepgramAgent,
  sent: [{ type: "Settings" }],
  received: [
    { type: "Welcome", request_id: dgRequest },
    { type: "ConversationText", role: "assistant", content: "Hello." },
  ],
  records: { id: dgRequest, requestedModel: null },
});
add({
  folder: "live-speech",
  name: "assemblyai-streaming",
  about:
    "The last message states the duration of the session, which is billed, and not only that of the sound.",
  provider: "assemblyai",
  host: "streaming.assemblyai.com",
  path: "/v3/ws?sample_rate=16000&speech_model=universal-streaming-english",
  pathModel: "universal-streaming-english",
  source: DOCUMENTS.assemblyaiLive,
  sent: [{ type: "Terminate" }],
  received: [
    { type: "Begin", id: "aai-live-1", expires_at: 1795262400 },
    { type: "Turn", turn_order: 0, end_of_turn: true, transcript: "Rain.", words: [] },
    { type: "Termination", audio_duration_seconds: 20, session_duration_seconds: 31 },
  ],
  records: { id: "aai-live-1", complete: true, extras: { live_audio_milliseconds: 31000 } },
});
const elevenlabs = {
  folder: "live-speech",
  provider: "elevenlabs",
  host: "api.elevenlabs.io",
  source: DOCUMENTS.elevenlabsLive,
} as const;
add({
  ...elevenlabs,
  name: "elevenlabs-speech",
  about: "Speech over a WebSocket states nothing: seen, with unknown characters.",
  path: "/v1/text-to-speech/voice-1/stream-input?model_id=eleven_flash_v2_5",
  pathModel: "eleven_flash_v2_5",
  sent: [{ text: " " }, { text: "Rain. " }, { text: "" }],
  received: [{ audio: "AAAA", alignment: { chars: ["R"] }, isFinal: null }, { isFinal: true }],
  records: {},
});
add({
  ...elevenlabs,
  name: "elevenlabs-transcription",
  about: "A live transcription names its model and its session, and states no duration.",
  path: "/v1/speech-to-text/realtime",
  sent: [{ message_type: "input_audio_chunk", audio_base_64: "AAAA", commit: true }],
  received: [
    { message_type: "session_started", session_id: "el-1", config: { model_id: "scribe_v2_realtime" } },
    { message_type: "committed_transcript", text: "Rain." },
  ],
  records: { id: "el-1", model: "scribe_v2_realtime", requestedModel: null },
});
add({
  ...elevenlabs,
  name: "elevenlabs-agent",
  about: "A conversation with an agent is billed by time and states nothing.",
  path: "/v1/convai/conversation?agent_id=a",
  sent: [{ type: "conversation_initiation_client_data" }],
  received: [
    {
      type: "conversation_initiation_metadata",
      conversation_initiation_metadata_event: {
        conversation_id: "conv_1",
        agent_output_audio_format: "pcm_16000",
      },
    },
    { type: "agent_response", agent_response_event: { agent_response: "Hello." } },
  ],
  records: { id: "conv_1", requestedModel: null },
});

/** The cases of these sessions. */
export const speechSessions: readonly WireCase[] = cases;
