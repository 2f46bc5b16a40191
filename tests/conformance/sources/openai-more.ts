import { defineApi, requestBytes } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import {
  closeFrame,
  concat,
  deflateMessages,
  json,
  jsonText,
  namedSse,
  ndjson,
  raw,
  responseBytes,
  upgradeAnswer,
  upgradeRequest,
  utf8,
  webSocketFrame,
} from "./wire.ts";

/** OpenAI's other APIs, and those that respond later or more than once. */

const i = defineApi({
  folder: "openai-images",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/images/generations",
  request: { model: "gpt-image-1.5", prompt: "Wet rain" },
  source: DOCUMENTS.openaiImages,
  id: null,
});
export const openaiImages = i.cases;
i.add(
  "json-generation",
  "Tokens of text in, of images out, each with a price of its own.",
  json({
    created: 1795262400,
    data: [{ b64_json: "iVBORw0KGgo=" }],
    usage: {
      input_tokens: 12,
      input_tokens_details: { image_tokens: 0, text_tokens: 12 },
      output_tokens: 1056,
      output_tokens_details: { image_tokens: 1056, text_tokens: 0 },
      total_tokens: 1068,
    },
  }),
  {
    tokens: { prompt: 12, completion: 1056 },
    extras: { image_output_tokens: 1056 },
    cost: [
      ["input", 12, "5"],
      ["image output", 1056, "32"],
    ],
  },
);
i.add(
  "json-edit",
  "An edit's input is text and image; the older model states no split of its output.",
  json({
    created: 1795262400,
    data: [{ b64_json: "iVBORw0KGgo=" }],
    usage: {
      input_tokens: 350,
      input_tokens_details: { image_tokens: 323, text_tokens: 27 },
      output_tokens: 272,
      total_tokens: 622,
    },
  }),
  {
    model: "gpt-image-1",
    tokens: { prompt: 350, completion: 272 },
    extras: { image_input_tokens: 323, image_output_tokens: 272 },
    cost: [
      ["input", 27, "5"],
      ["image input", 323, "10"],
      ["output", 272, "40"],
    ],
  },
  { path: "/v1/images/edits", request: { model: "gpt-image-1" } },
);
i.add(
  "json-without-usage",
  "A model that is billed by the image states no usage: unknown.",
  json({ created: 1795262400, data: [{ url: "https://example.invalid/i.png" }] }),
  { model: "dall-e-3" },
  { request: { model: "dall-e-3" } },
);

const a = defineApi({
  folder: "openai-audio",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/audio/transcriptions",
  // The real request is a form; only its model matters here.
  request: { model: "gpt-4o-transcribe" },
  source: DOCUMENTS.openaiTranscription,
  id: null,
});
export const openaiAudio = a.cases;
a.add(
  "transcription-tokens",
  "A transcription billed by tokens, of which the audio's cost more.",
  json({
    text: "Rain is wet.",
    usage: {
      type: "tokens",
      input_tokens: 120,
      input_token_details: { text_tokens: 20, audio_tokens: 100 },
      output_tokens: 30,
      total_tokens: 150,
    },
  }),
  {
    tokens: { prompt: 120, completion: 30 },
    extras: { audio_input_tokens: 100 },
    cost: [
      ["audio input", 100, "6"],
      ["input", 20, "2.5"],
      ["output", 30, "10"],
    ],
  },
);
a.add(
  "transcription-duration",
  "A transcription billed by time has no tokens: 12.5 seconds at 0.006 USD a minute.",
  json({ text: "Rain is wet.", usage: { type: "duration", seconds: 12.5 } }),
  {
    model: "whisper-1",
    complete: true,
    extras: { audio_milliseconds: 12500 },
    cost: [["milliseconds of audio", 12500, "0.1"]],
  },
  { request: { model: "whisper-1" } },
);
a.add(
  "transcription-stream",
  "A stream of a transcription states usage with its last event.",
  namedSse([
    { type: "transcript.text.delta", delta: "Rain" } as { type: string },
    {
      type: "transcript.text.done",
      text: "Rain is wet.",
      usage: {
        type: "tokens",
        input_tokens: 50,
        input_token_details: { text_tokens: 0, audio_tokens: 50 },
        output_tokens: 10,
        total_tokens: 60,
      },
    } as { type: string },
  ]),
  {
    tokens: { prompt: 50, completion: 10 },
    extras: { audio_input_tokens: 50 },
    cost: [
      ["audio input", 50, "6"],
      ["output", 10, "10"],
    ],
  },
  { request: { stream: true } },
);
a.add(
  "transcription-text",
  "A transcription as plain text states nothing.",
  raw(["Rain is wet.\n"], { headers: [["Content-Type", "text/plain; charset=utf-8"]] }),
  {},
);
a.add(
  "speech-binary",
  "Speech is sound and states nothing: unknown, not 0.",
  raw([Uint8Array.from({ length: 600 }, (_, at) => (at * 37) & 0xff)], {
    headers: [["Content-Type", "audio/mpeg"]],
    framing: "chunked",
  }),
  { model: "gpt-4o-mini-tts" },
  { path: "/v1/audio/speech", request: { model: "gpt-4o-mini-tts", input: "Rain", voice: "alloy" } },
);

const MODEL = "gpt-5-2025-08-07";
const r = defineApi({
  folder: "openai-background",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/responses",
  request: { model: "gpt-5", input: "Why is rain wet?", background: true },
  source: DOCUMENTS.openaiResponses,
  id: "resp_Background00000000001",
});
export const openaiBackground = r.cases;
const background = (status: string, usage: unknown) => ({
  id: "resp_Background00000000001",
  object: "response",
  status,
  background: true,
  model: MODEL,
  output: [],
  error: null,
  service_tier: "default",
  usage,
});
const polled = { method: "GET", path: "/v1/responses/resp_Background00000000001" };
const request = (options = {}) =>
  requestBytes(
    {
      folder: "",
      provider: "",
      host: "api.openai.com",
      path: "/v1/responses",
      request: { model: "gpt-5", input: "Why is rain wet?", background: true },
      source: DOCUMENTS.openaiResponses,
    },
    options,
  );
const doneUsage = {
  input_tokens: 40,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 900,
  output_tokens_details: { reasoning_tokens: 800 },
  total_tokens: 940,
};
r.addBytes(
  "polled",
  "Started, polled twice while it runs, then fetched twice when done: one response, one record.",
  {
    request: concat(request(), request(polled), request(polled), request(polled), request(polled)),
    response: concat(
      ...[
        background("queued", null),
        background("queued", null),
        background("in_progress", null),
        background("completed", doneUsage),
        background("completed", doneUsage),
      ].map((body) => responseBytes(json(body))),
    ),
  },
  // The poll that found the job finished has no body with a model.
  {
    model: MODEL,
    requestedModel: null,
    tier: "default",
    tokens: { prompt: 40, cache_read: 0, completion: 100, thinking: 800 },
    cost: RATES.gpt5,
  },
);
r.add(
  "stored-response-fetched",
  "A stored response that was no background one was billed when it was made: fetching it is free.",
  json({ ...background("completed", doneUsage), background: false }),
  null,
  { ...polled },
);

const batch = defineApi({
  folder: "batches",
  provider: "anthropic",
  host: "api.anthropic.com",
  method: "GET",
  path: "/v1/messages/batches/msgbatch_1/results",
  request: {},
  source: DOCUMENTS.anthropicBatches,
});
export const batches = batch.cases;
const result = (id: string, input: number, output: number) => ({
  custom_id: `custom-${id}`,
  result: {
    type: "succeeded",
    message: {
      id: `msg_Batch0000000000000${id}`,
      type: "message",
      role: "assistant",
      model: "claude-haiku-4-5-20251001",
      content: [{ type: "text", text: "Water." }],
      stop_reason: "end_turn",
      usage: {
        input_tokens: input,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: output,
        service_tier: "batch",
      },
    },
  },
});
const lines = [
  result("1", 1000, 100),
  {
    custom_id: "custom-2",
    result: {
      type: "errored",
      error: { type: "error", error: { type: "invalid_request_error", message: "No." } },
    },
  },
  { custom_id: "custom-3", result: { type: "expired" } },
  result("4", 2000, 50),
];
const results = ndjson(lines, { headers: [["Content-Type", "application/x-jsonl"]], streams: false });
const batchRecord = (id: string, input: number, output: number) => ({
  model: "claude-haiku-4-5-20251001",
  requestedModel: null,
  id: `msg_Batch0000000000000${id}`,
  tier: "batch",
  tokens: { prompt: input, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: output },
  cost: RATES.haiku45Batch,
});
const batchRecords = [batchRecord("1", 1000, 100), batchRecord("4", 2000, 50)];
batch.add(
  "anthropic-results",
  "Each result with a message is a record at half the price; what failed or expired is none.",
  results,
  batchRecords,
);
const fetchResults = requestBytes({
  folder: "",
  provider: "",
  host: "api.anthropic.com",
  method: "GET",
  path: "/v1/messages/batches/msgbatch_1/results",
  request: {},
  source: DOCUMENTS.anthropicBatches,
});
batch.addBytes(
  "anthropic-results-twice",
  "The same results fetched again are no new records.",
  {
    request: concat(fetchResults, fetchResults),
    response: concat(responseBytes(results), responseBytes(results)),
  },
  batchRecords,
);
const output = (id: string, prompt: number) => ({
  id: `batch_req_0000000000000${id}`,
  custom_id: `custom-${id}`,
  response: {
    status_code: 200,
    request_id: `req_${id}`,
    body: {
      id: `chatcmpl-Batch000000000${id}`,
      object: "chat.completion",
      model: "gpt-5-mini-2025-08-07",
      choices: [],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: 10,
        total_tokens: prompt + 10,
        completion_tokens_details: { reasoning_tokens: 4 },
      },
    },
  },
  error: null,
});
batch.add(
  "openai-output-file",
  "The output file of a batch: a line for each answer, at half the price.",
  ndjson([output("1", 500), output("2", 700)], {
    headers: [["Content-Type", "application/octet-stream"]],
    streams: false,
  }),
  [["1", 500] as const, ["2", 700] as const].map(([id, prompt]) => ({
    provider: "openai",
    model: "gpt-5-mini-2025-08-07",
    requestedModel: null,
    id: `chatcmpl-Batch000000000${id}`,
    tier: "batch",
    tokens: { prompt, completion: 6, thinking: 4 },
    cost: RATES.gpt5MiniFlex,
  })),
  { host: "api.openai.com", path: "/v1/files/file-1/content", source: DOCUMENTS.openaiChat },
);
batch.add(
  "openai-other-file",
  "A file of another kind has no usage: no record.",
  raw(["city,rain\nBergen,2250\n"], { headers: [["Content-Type", "application/octet-stream"]] }),
  null,
  { host: "api.openai.com", path: "/v1/files/file-2/content", source: DOCUMENTS.openaiChat },
);

const c = defineApi({
  folder: "codex",
  provider: "codex",
  host: "chatgpt.com",
  path: "/backend-api/codex/responses",
  request: { model: "gpt-5.3-codex", input: [], stream: true },
  source: DOCUMENTS.openaiResponsesStream,
  id: "resp_Codex000000000000001",
});
export const codex = c.cases;
const codexResponse = (status: string, usage: unknown) => ({
  id: "resp_Codex000000000000001",
  object: "response",
  status,
  model: "gpt-5.3-codex",
  output: [],
  usage,
});
const codexUsage = {
  input_tokens: 9000,
  input_tokens_details: { cached_tokens: 8000 },
  output_tokens: 300,
  output_tokens_details: { reasoning_tokens: 100 },
  total_tokens: 9300,
};
const codexRecord = {
  tokens: { prompt: 1000, cache_read: 8000, completion: 200, thinking: 100 },
  cost: RATES.gpt53Codex,
};
c.add(
  "stream",
  "Codex signed in with ChatGPT: the Responses stream; the cost is what the list would ask.",
  namedSse([
    { type: "response.created", response: codexResponse("in_progress", null) } as { type: string },
    { type: "response.completed", response: codexResponse("completed", codexUsage) } as { type: string },
  ]),
  codexRecord,
);

const DEFLATE = "Sec-WebSocket-Extensions: permessage-deflate\r\n";

for (const [name, about, contextTakeover] of [
  [
    "websocket-deflate",
    "Responses over a WebSocket, each message deflated with the window of those before it.",
    true,
  ],
  ["websocket-deflate-no-context", "The server agreed to begin each message with an empty window.", false],
] as const) {
  const sent = deflateMessages(
    [jsonText({ type: "response.create", model: "gpt-5.3-codex", input: [] })],
    contextTakeover,
  );
  const received = deflateMessages(
    [
      jsonText({ type: "response.created", response: codexResponse("in_progress", null) }),
      jsonText({ type: "response.output_text.delta", delta: "Water. Water. Water. Water." }),
      jsonText({ type: "response.completed", response: codexResponse("completed", codexUsage) }),
    ],
    contextTakeover,
  );
  const agreed = contextTakeover
    ? DEFLATE
    : "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n";
  c.addBytes(
    name,
    about,
    {
      request: concat(
        upgradeRequest("chatgpt.com", "/backend-api/codex/responses", DEFLATE),
        ...sent.map((frame) => webSocketFrame(frame, { masked: true, compressed: true })),
      ),
      response: concat(
        upgradeAnswer(agreed),
        ...received.map((frame) => webSocketFrame(frame, { compressed: true })),
        closeFrame,
      ),
    },
    { ...codexRecord, status: 101, streaming: true },
  );
}

const rt = defineApi({
  folder: "openai-realtime",
  provider: "openai",
  host: "api.openai.com",
  method: "GET",
  path: "/v1/realtime?model=gpt-realtime",
  pathModel: "gpt-realtime",
  request: {},
  source: DOCUMENTS.openaiRealtime,
});
export const openaiRealtime = rt.cases;
const realtimeDone = (id: string, usage: object) => ({
  type: "response.done",
  event_id: `event_${id}`,
  response: {
    object: "realtime.response",
    id: `resp_Realtime000000000000${id}`,
    status: "completed",
    status_details: null,
    output: [],
    usage,
  },
});
const first = {
  total_tokens: 253,
  input_tokens: 132,
  output_tokens: 121,
  input_token_details: {
    text_tokens: 119,
    audio_tokens: 13,
    image_tokens: 0,
    cached_tokens: 64,
    cached_tokens_details: { text_tokens: 64, audio_tokens: 0, image_tokens: 0 },
  },
  output_token_details: { text_tokens: 30, audio_tokens: 91 },
};
const second = {
  total_tokens: 500,
  input_tokens: 400,
  output_tokens: 100,
  input_token_details: {
    text_tokens: 150,
    audio_tokens: 250,
    cached_tokens: 300,
    cached_tokens_details: { text_tokens: 128, audio_tokens: 172 },
  },
  output_token_details: { text_tokens: 20, audio_tokens: 80 },
};
const session = {
  type: "session.created",
  event_id: "event_0",
  session: { type: "realtime", id: "sess_1", model: "gpt-realtime-2025-08-28" },
};
const create = webSocketFrame(jsonText({ type: "response.create" }), { masked: true });
const created = (id: string) => ({
  type: "response.created",
  event_id: `event_c${id}`,
  response: {
    object: "realtime.response",
    id: `resp_Realtime000000000000${id}`,
    status: "in_progress",
    output: [],
    usage: null,
  },
});
const realtimeRecords = [
  {
    status: 101,
    model: "gpt-realtime-2025-08-28",
    streaming: true,
    id: "resp_Realtime00000000000001",
    tokens: { prompt: 68, cache_read: 64, completion: 121 },
    extras: { audio_input_tokens: 13, audio_output_tokens: 91 },
    cost: [
      ["audio input", 13, "32"],
      ["input", 55, "4"],
      ["cache read", 64, "0.4"],
      ["audio output", 91, "64"],
      ["output", 30, "16"],
    ] as const,
  },
  {
    status: 101,
    model: "gpt-realtime-2025-08-28",
    streaming: true,
    id: "resp_Realtime00000000000002",
    tokens: { prompt: 100, cache_read: 300, completion: 100 },
    extras: { audio_input_tokens: 78, audio_cache_read_tokens: 172, audio_output_tokens: 80 },
    cost: [
      ["audio input", 78, "32"],
      ["input", 22, "4"],
      ["audio cache read", 172, "0.4"],
      ["cache read", 128, "0.4"],
      ["audio output", 80, "64"],
      ["output", 20, "16"],
    ] as const,
  },
];
rt.addBytes(
  "two-responses",
  "One session, two responses: a record each, with text and audio split for the input and for what was cached of it.",
  {
    request: concat(upgradeRequest("api.openai.com", "/v1/realtime?model=gpt-realtime", ""), create, create),
    response: concat(
      upgradeAnswer(""),
      ...[
        session,
        created("01"),
        realtimeDone("01", first),
        { type: "rate_limits.updated", rate_limits: [] },
        created("02"),
        realtimeDone("02", second),
      ].map((message) => webSocketFrame(jsonText(message))),
      closeFrame,
    ),
  },
  realtimeRecords,
);
const fragments = jsonText(realtimeDone("01", first));
rt.addBytes(
  "fragmented-with-pings",
  "A message in three frames, with a ping between them, as the protocol allows.",
  {
    request: concat(upgradeRequest("api.openai.com", "/v1/realtime?model=gpt-realtime", ""), create),
    response: concat(
      upgradeAnswer(""),
      webSocketFrame(jsonText(session)),
      webSocketFrame(jsonText(created("01"))),
      webSocketFrame(fragments.subarray(0, 100), { final: false }),
      webSocketFrame(utf8("hello"), { opcode: 9 }),
      webSocketFrame(fragments.subarray(100, 300), { opcode: 0, final: false }),
      webSocketFrame(fragments.subarray(300), { opcode: 0 }),
      closeFrame,
    ),
  },
  [realtimeRecords[0] as (typeof realtimeRecords)[number]],
);
