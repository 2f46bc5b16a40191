import { type ApiSpec, defineApi, type RecordSpec } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { closeFrame, concat, jsonText, upgradeAnswer, upgradeRequest, webSocketFrame } from "./wire.ts";

/** Gemini Live: one WebSocket, a record for each generation of the model. */

const HOST = "generativelanguage.googleapis.com";
const PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=KEY";
const MODEL = "gemini-3.1-flash-live-preview";

const api: ApiSpec = {
  folder: "gemini-live",
  provider: "gemini",
  host: HOST,
  method: "GET",
  path: PATH,
  request: { model: MODEL },
  source: DOCUMENTS.geminiLive,
  id: null,
};
const l = defineApi(api);
export const geminiLive = l.cases;

const setup = (model = `models/${MODEL}`) => ({
  setup: { model, generationConfig: { responseModalities: ["AUDIO"] } },
});
const say = (text: string) => ({
  clientContent: { turns: [{ role: "user", parts: [{ text }] }], turnComplete: true },
});
const setupComplete = { setupComplete: {} };
const sound = {
  serverContent: {
    modelTurn: { parts: [{ inlineData: { mimeType: "audio/pcm;rate=24000", data: "AAAAAA==" } }] },
  },
};
const generated = { serverContent: { generationComplete: true } };
const complete = { serverContent: { turnComplete: true } };

const sent = (...messages: readonly object[]) =>
  messages.map((message) => webSocketFrame(jsonText(message), { masked: true }));
/** As Google's server frames its JSON: as binary messages. */
const received = (...messages: readonly object[]) =>
  messages.map((message) => webSocketFrame(jsonText(message), { opcode: 2 }));

const session = (requests: readonly object[], answers: readonly object[], isClosed = true) => ({
  request: concat(upgradeRequest(HOST, PATH, ""), ...sent(...requests)),
  response: concat(upgradeAnswer(""), ...received(...answers), ...(isClosed ? [closeFrame] : [])),
});

const modalities = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([modality, tokenCount]) => ({ modality, tokenCount }));

const live = { status: 101, streaming: true } as const;

const firstUsage = {
  promptTokenCount: 143,
  responseTokenCount: 19,
  totalTokenCount: 162,
  promptTokensDetails: modalities({ TEXT: 143 }),
  responseTokensDetails: modalities({ AUDIO: 19 }),
};
const first: RecordSpec = {
  ...live,
  tokens: { prompt: 143, cache_read: 0, completion: 19, thinking: 0 },
  extras: { audio_output_tokens: 19 },
  cost: [
    ["input", 143, "0.75"],
    ["audio output", 19, "12"],
  ],
};
const secondUsage = {
  promptTokenCount: 181,
  responseTokenCount: 24,
  totalTokenCount: 205,
  promptTokensDetails: modalities({ TEXT: 162, AUDIO: 19 }),
  responseTokensDetails: modalities({ AUDIO: 24 }),
};
const second: RecordSpec = {
  ...live,
  tokens: { prompt: 181, cache_read: 0, completion: 24, thinking: 0 },
  extras: { audio_input_tokens: 19, audio_output_tokens: 24 },
  cost: [
    ["input", 162, "0.75"],
    ["audio input", 19, "3"],
    ["audio output", 24, "12"],
  ],
};

l.addBytes(
  "two-turns",
  "The context is read and billed anew with each turn: the counts are of the turn, and none is cumulative.",
  session(
    [setup(), say("Why is rain wet?"), say("And snow?")],
    [
      setupComplete,
      sound,
      generated,
      { ...complete, usageMetadata: firstUsage },
      sound,
      generated,
      { ...complete, usageMetadata: secondUsage },
    ],
  ),
  [first, second],
  { source: DOCUMENTS.geminiLiveTurns },
);

l.addBytes(
  "usage-by-itself",
  "Usage may come in a message of its own, before or behind the end of the turn.",
  session(
    [setup(), say("Why is rain wet?"), say("And snow?")],
    [
      setupComplete,
      sound,
      { usageMetadata: firstUsage },
      complete,
      sound,
      complete,
      { usageMetadata: secondUsage },
    ],
  ),
  [first, second],
);

l.addBytes(
  "tool-call",
  "A turn with the call of a tool has two generations, and states the usage of each.",
  session(
    [
      setup(),
      say("Is it raining?"),
      { toolResponse: { functionResponses: [{ id: "call-1", name: "weather", response: { rain: true } }] } },
    ],
    [
      setupComplete,
      {
        toolCall: { functionCalls: [{ id: "call-1", name: "weather", args: {} }] },
        usageMetadata: {
          promptTokenCount: 200,
          responseTokenCount: 14,
          totalTokenCount: 214,
          promptTokensDetails: modalities({ TEXT: 200 }),
          responseTokensDetails: modalities({ TEXT: 14 }),
          thoughtsTokenCount: 124,
        },
      },
      sound,
      { ...complete, usageMetadata: { ...firstUsage, promptTokenCount: 230, toolUsePromptTokenCount: 11 } },
    ],
  ),
  [
    {
      ...live,
      tokens: { prompt: 200, cache_read: 0, completion: 14, thinking: 124 },
      cost: [
        ["input", 200, "0.75"],
        ["output", 14, "4.5"],
        ["thinking", 124, "4.5"],
      ],
    },
    {
      ...live,
      tokens: { prompt: 241, cache_read: 0, completion: 19, thinking: 0 },
      extras: { audio_output_tokens: 19 },
      cost: [
        ["input", 241, "0.75"],
        ["audio output", 19, "12"],
      ],
    },
  ],
  { source: DOCUMENTS.geminiLiveTurns },
);

l.addBytes(
  "thoughts",
  "Thoughts come on top of the response; the total here leaves them out, and the details leave 25 tokens of the prompt.",
  session(
    [setup(), { realtimeInput: { audio: { mimeType: "audio/pcm;rate=16000", data: "AAAA" } } }],
    [
      setupComplete,
      sound,
      {
        ...complete,
        usageMetadata: {
          promptTokenCount: 522,
          responseTokenCount: 42,
          totalTokenCount: 564,
          promptTokensDetails: modalities({ TEXT: 332, AUDIO: 165 }),
          responseTokensDetails: modalities({ AUDIO: 42 }),
          thoughtsTokenCount: 136,
        },
      },
    ],
  ),
  {
    ...live,
    tokens: { prompt: 522, cache_read: 0, completion: 42, thinking: 136 },
    extras: { audio_input_tokens: 165, audio_output_tokens: 42 },
    cost: [
      ["input", 357, "0.75"],
      ["audio input", 165, "3"],
      ["audio output", 42, "12"],
      ["thinking", 136, "4.5"],
    ],
  },
  { source: DOCUMENTS.geminiLiveThoughts },
);

l.addBytes(
  "interrupted",
  "A turn that the user interrupts states what was generated until then.",
  session(
    [setup(), say("Tell me about rain.")],
    [
      setupComplete,
      sound,
      { serverContent: { interrupted: true } },
      { ...complete, usageMetadata: firstUsage },
    ],
  ),
  first,
);

l.addBytes(
  "grounded",
  "Searches of the web stand beside the content; queries that are repeated count once.",
  session(
    [setup(), say("Will it rain?")],
    [
      setupComplete,
      { serverContent: { groundingMetadata: { webSearchQueries: ["rain today", "rain radar"] } } },
      { serverContent: { ...sound.serverContent, groundingMetadata: { webSearchQueries: ["rain today"] } } },
      { ...complete, usageMetadata: firstUsage },
    ],
  ),
  {
    ...first,
    extras: { audio_output_tokens: 19, web_search_requests: 2 },
    cost: [
      ["input", 143, "0.75"],
      ["audio output", 19, "12"],
      ["web search", 2, "14000"],
    ],
  },
  { source: DOCUMENTS.geminiLiveBilling },
);

l.addBytes(
  "turn-without-usage",
  "A turn that ended without usage is unknown, and not part of the next one.",
  session(
    [setup(), say("Why is rain wet?"), say("And snow?")],
    [setupComplete, sound, complete, sound, { ...complete, usageMetadata: secondUsage }],
  ),
  [live, second],
);

l.addBytes(
  "cut",
  "The connection is lost within the second turn: what it cost is unknown, the first stands.",
  session(
    [setup(), say("Why is rain wet?"), say("And snow?")],
    [setupComplete, sound, { ...complete, usageMetadata: firstUsage }, sound],
    false,
  ),
  [first, { ...live, error: ["network", true, null] }],
);

l.addBytes(
  "cut-inside-usage",
  "The last message breaks off within its usage: nothing of it counts.",
  {
    request: session([setup(), say("Why is rain wet?")], []).request,
    response: concat(
      upgradeAnswer(""),
      ...received(setupComplete, sound),
      webSocketFrame(jsonText({ usageMetadata: firstUsage }), { opcode: 2 }).subarray(0, 60),
    ),
  },
  { ...live, error: ["network", true, null] },
);

l.addBytes(
  "silent-session",
  "A session without a turn is not billed.",
  session([setup()], [setupComplete, { goAway: { timeLeft: "50s" } }]),
  null,
);

const VERTEX_HOST = "us-central1-aiplatform.googleapis.com";
const VERTEX_PATH = "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent";
l.addBytes(
  "vertex",
  "On Vertex the counts have generateContent's names, the model a longer path, and the frames may be text.",
  {
    request: concat(
      upgradeRequest(VERTEX_HOST, VERTEX_PATH, ""),
      ...sent(
        setup("projects/p-1/locations/us-central1/publishers/google/models/gemini-live-2.5-flash"),
        say("What colour is the sky?"),
      ),
    ),
    response: concat(
      upgradeAnswer(""),
      ...[
        setupComplete,
        sound,
        {
          ...complete,
          usageMetadata: {
            promptTokenCount: 20,
            candidatesTokenCount: 27,
            totalTokenCount: 47,
            promptTokensDetails: modalities({ TEXT: 20 }),
            candidatesTokensDetails: modalities({ TEXT: 2, AUDIO: 25 }),
            trafficType: "ON_DEMAND",
          },
        },
      ].map((message) => webSocketFrame(jsonText(message))),
      closeFrame,
    ),
  },
  {
    ...live,
    provider: "vertex",
    model: "gemini-live-2.5-flash",
    requestedModel: "gemini-live-2.5-flash",
    tokens: { prompt: 20, cache_read: 0, completion: 27, thinking: 0 },
    extras: { regional_endpoint: 1, audio_output_tokens: 25 },
    tier: "on_demand",
    cost: [
      ["input", 20, "0.5"],
      ["output", 2, "2"],
      ["audio output", 25, "12"],
    ],
  },
  { host: VERTEX_HOST },
);
