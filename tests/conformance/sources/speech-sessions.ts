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
  pathModel?: string;
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

/** The cases of these sessions. */
export const speechSessions: readonly WireCase[] = cases;
