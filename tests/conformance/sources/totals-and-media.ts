import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { json, sse } from "./wire.ts";

/** Counts that hosts state beside their totals, and media with their own rates. */

const messages = [{ role: "user", content: "Why is rain wet?" }];
const completion = (id: string, model: string, usage: unknown) => ({
  id,
  object: "chat.completion",
  created: 1795262400,
  model,
  choices: [{ index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" }],
  usage,
});

const voxtral = defineApi({
  folder: "mistral",
  provider: "mistral",
  host: "api.mistral.ai",
  path: "/v1/chat/completions",
  request: { model: "voxtral-small-latest", messages },
  source: DOCUMENTS.mistralAudio,
  id: "cmpl-voxtral",
});
export const mistralAudio = voxtral.cases;
voxtral.add(
  "json-audio",
  "Audio is counted beside prompt_tokens, as the total shows: 9 + 375 + 248 = 632. Its price is not known.",
  json(
    completion("cmpl-voxtral", "voxtral-small-latest", {
      prompt_tokens: 9,
      completion_tokens: 248,
      total_tokens: 632,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 375 },
    }),
  ),
  { tokens: { prompt: 384, cache_read: 0, completion: 248 }, extras: { audio_input_tokens: 375 } },
);
voxtral.add(
  "json-audio-without-total",
  "More audio than prompt tokens: a part cannot exceed the whole, so prompt_tokens leaves it out also where no total shows it.",
  json(
    completion("cmpl-voxtral", "voxtral-small-latest", {
      prompt_tokens: 9,
      completion_tokens: 248,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 375 },
    }),
  ),
  { tokens: { prompt: 384, cache_read: 0, completion: 248 }, extras: { audio_input_tokens: 375 } },
);
voxtral.add(
  "json-audio-seconds-alone",
  "Thirty seconds of audio whose tokens are stated nowhere: the price of nine tokens of text is not the price of the call.",
  json(
    completion("cmpl-voxtral", "voxtral-small-latest", {
      prompt_audio_seconds: 30,
      prompt_tokens: 9,
      completion_tokens: 248,
      total_tokens: 257,
    }),
  ),
  {
    tokens: { prompt: 9, completion: 248 },
    complete: false,
    cost: [
      ["input", 9, "0.1"],
      ["output", 248, "0.4"],
    ],
  },
);
voxtral.add(
  "transcription",
  "A transcription is billed by its 30 seconds at 0.003 USD a minute; its tokens are not billed.",
  json({
    model: "voxtral-mini-2602",
    text: "Rain is wet.",
    language: null,
    segments: [],
    usage: {
      prompt_audio_seconds: 30,
      prompt_tokens: 3,
      completion_tokens: 1,
      total_tokens: 379,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 375 },
    },
  }),
  {
    id: null,
    model: "voxtral-mini-2602",
    tokens: { prompt: 378, cache_read: 0, completion: 1 },
    extras: { audio_input_tokens: 375, audio_milliseconds: 30000 },
    cost: [["milliseconds of audio", 30000, "0.05"]],
  },
  {
    path: "/v1/audio/transcriptions",
    request: { model: "voxtral-mini-2602", messages: undefined, file_url: "https://example.com/rain.mp3" },
  },
);
voxtral.add(
  "transcription-seconds",
  "Without details, what the total has beside the two counts is the audio: 3264 - 4 - 635 = 2625 for seven windows of 30 seconds.",
  json({
    model: "voxtral-mini-2602",
    text: "Rain is wet.",
    language: null,
    segments: [],
    usage: { prompt_audio_seconds: 203, prompt_tokens: 4, completion_tokens: 635, total_tokens: 3264 },
  }),
  {
    id: null,
    model: "voxtral-mini-2602",
    tokens: { prompt: 2629, completion: 635 },
    extras: { audio_input_tokens: 2625, audio_milliseconds: 203000 },
    cost: [["milliseconds of audio", 203000, "0.05"]],
  },
  {
    path: "/v1/audio/transcriptions",
    request: { model: "voxtral-mini-2602", messages: undefined, file_url: "https://example.com/rain.mp3" },
  },
);

const GEMINI = "gemini-2.5-flash";
const hidden = { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 };
const compatible = defineApi({
  folder: "gemini-openai",
  provider: "gemini",
  host: "generativelanguage.googleapis.com",
  path: "/v1beta/openai/chat/completions",
  request: { model: GEMINI, messages },
  source: DOCUMENTS.geminiHiddenThoughts,
  id: "gemini-compat-1",
});
export const geminiOpenai = compatible.cases;
compatible.add(
  "json-hidden-thoughts",
  "Google's compatible endpoint states no thoughts; its total includes them: 109 - 35 - 12 = 62.",
  json(completion("gemini-compat-1", GEMINI, hidden)),
  { tokens: { prompt: 35, completion: 12, thinking: 62 }, cost: RATES.gemini25Flash },
);
compatible.add(
  "json-without-thoughts",
  "A total that is the sum leaves thinking as it is stated: not at all.",
  json(completion("gemini-compat-1", GEMINI, { ...hidden, total_tokens: 47 })),
  { tokens: { prompt: 35, completion: 12 }, cost: RATES.gemini25Flash },
);
compatible.add(
  "stream-hidden-thoughts",
  "The same in a stream, whose last chunk counts.",
  sse([
    {
      id: "gemini-compat-1",
      object: "chat.completion.chunk",
      model: GEMINI,
      choices: [{ index: 0, delta: { role: "assistant", content: "Water." }, finish_reason: null }],
      usage: { prompt_tokens: 35, completion_tokens: 4, total_tokens: 101 },
    },
    {
      id: "gemini-compat-1",
      object: "chat.completion.chunk",
      model: GEMINI,
      choices: [{ index: 0, delta: { role: "assistant" }, finish_reason: "stop" }],
      usage: hidden,
    },
    "[DONE]",
  ]),
  { tokens: { prompt: 35, completion: 12, thinking: 62 }, cost: RATES.gemini25Flash },
  { request: { stream: true, stream_options: { include_usage: true } } },
);
compatible.add(
  "json-image-model",
  "The compatible endpoint does not tell image tokens from text, which cost a twelfth: the record is not complete.",
  json(
    completion("gemini-compat-1", "gemini-2.5-flash-image", {
      prompt_tokens: 35,
      completion_tokens: 1290,
      total_tokens: 1325,
    }),
  ),
  { tokens: { prompt: 35, completion: 1290 }, complete: false, cost: RATES.gemini25Flash },
  { request: { model: "gemini-2.5-flash-image" } },
);

const omni = defineApi({
  folder: "gateways",
  provider: "alibaba",
  host: "dashscope-intl.aliyuncs.com",
  path: "/compatible-mode/v1/chat/completions",
  request: { model: "qwen3-omni-flash", messages },
  source: DOCUMENTS.qwenOmni,
  id: "chatcmpl-omni",
});
export const qwenOmni = omni.cases;
omni.add(
  "qwen-omni-image",
  "Qwen-Omni bills images at a rate of their own, which the list does not have.",
  json(
    completion("chatcmpl-omni", "qwen3-omni-flash", {
      prompt_tokens: 1130,
      completion_tokens: 60,
      total_tokens: 1190,
      prompt_tokens_details: { text_tokens: 30, image_tokens: 1100 },
    }),
  ),
  { tokens: { prompt: 1130, completion: 60 }, extras: { image_input_tokens: 1100 } },
);
const jina = defineApi({
  folder: "gateways",
  provider: "jina",
  host: "api.jina.ai",
  path: "/v1/embeddings",
  request: { model: "jina-embeddings-v4", input: [{ image: "https://example.com/rain.png" }] },
  source: DOCUMENTS.openaiEmbeddings,
  id: null,
});
export const embeddingTotals = jina.cases;
jina.add(
  "embeddings-total-unexplained",
  "An embedding has input alone: a total above it leaves the usage incomplete.",
  json({
    object: "list",
    data: [],
    model: "jina-embeddings-v4",
    usage: { prompt_tokens: 12, total_tokens: 4012 },
  }),
  { tokens: { prompt: 12, completion: 0 }, complete: false },
);

const gateway = defineApi({
  folder: "vercel",
  provider: "vercel",
  host: "ai-gateway.vercel.sh",
  path: "/v1/chat/completions",
  request: { model: "google/gemini-2.5-flash", messages },
  source: DOCUMENTS.vercelUsage,
  id: "gen_Conformance1",
});
export const vercel = gateway.cases;
gateway.add(
  "json-reasoning-beside-output",
  "More reasoning than output: a part cannot exceed the whole, so completion_tokens leaves it out.",
  json(
    completion("gen_Conformance1", "google/gemini-2.5-flash", {
      prompt_tokens: 35,
      completion_tokens: 12,
      total_tokens: 47,
      completion_tokens_details: { reasoning_tokens: 62 },
    }),
  ),
  {
    tokens: { prompt: 35, completion: 12, thinking: 62 },
    cost: { input: "0.3", output: "2.5" },
  },
);
const GATEWAY_COST = {
  document: "vercel/ai, packages/gateway; https://vercel.com/docs/ai-gateway: provider_metadata.gateway",
  read_on: "2026-11-23",
};
const gatewayUsage = { prompt_tokens: 3000, completion_tokens: 200, total_tokens: 3200 };
const withCost = (cost: object) => ({ provider_metadata: { gateway: { generationId: "gen_1", ...cost } } });
gateway.add(
  "json-stated-cost",
  "The message states what the gateway charged, which no price list knows.",
  json({
    ...completion("gen_Conformance1", "google/gemini-2.5-flash", gatewayUsage),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "Water.",
          ...withCost({ cost: "0.0042", marketCost: "0.005" }),
        },
        finish_reason: "stop",
      },
    ],
  }),
  { tokens: { prompt: 3000, completion: 200 }, providerCost: "4200000000", cost: "provider" },
  { source: GATEWAY_COST },
);
gateway.add(
  "stream-stated-cost",
  "The last delta states the cost beside the usage.",
  sse([
    {
      id: "gen_Conformance1",
      model: "google/gemini-2.5-flash",
      choices: [{ index: 0, delta: { content: "W" } }],
    },
    {
      id: "gen_Conformance1",
      model: "google/gemini-2.5-flash",
      choices: [{ index: 0, delta: withCost({ cost: "0.0042" }), finish_reason: "stop" }],
      usage: gatewayUsage,
    },
  ]),
  {
    streaming: true,
    tokens: { prompt: 3000, completion: 200 },
    providerCost: "4200000000",
    cost: "provider",
  },
  { source: GATEWAY_COST, request: { model: "google/gemini-2.5-flash", stream: true, messages } },
);
gateway.add(
  "json-own-key",
  "The gateway charges nothing for a call with the caller's own provider key. The provider does, at the list price.",
  json({
    ...completion("gen_Conformance1", "google/gemini-2.5-flash", gatewayUsage),
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "W", ...withCost({ cost: "0", marketCost: "0.0014" }) },
        finish_reason: "stop",
      },
    ],
  }),
  { tokens: { prompt: 3000, completion: 200 }, cost: { input: "0.3", output: "2.5" } },
  { source: GATEWAY_COST },
);
gateway.add(
  "language-model-reasoning-in-total",
  "The protocol of the ai package passes on the provider's counts: 35 + 112 + 62 = 209.",
  json({
    content: [],
    finishReason: "stop",
    usage: { inputTokens: 35, outputTokens: 112, totalTokens: 209, reasoningTokens: 62 },
    response: { id: "gen_Conformance2", modelId: "google/gemini-2.5-flash" },
    providerMetadata: { gateway: { cost: "0.0004455", generationId: "gen_Conformance2" } },
  }),
  {
    id: "gen_Conformance2",
    model: "google/gemini-2.5-flash",
    requestedModel: null,
    tokens: { prompt: 35, completion: 112, thinking: 62 },
    providerCost: "445500000",
    cost: "provider",
  },
  { path: "/v3/ai/language-model", request: { model: undefined, messages: undefined, prompt: messages } },
);

const text = defineApi({
  folder: "openai-chat",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/completions",
  request: { model: "gpt-3.5-turbo-instruct", prompt: "Rain is" },
  source: DOCUMENTS.openaiChat,
  id: "cmpl-Conformance1",
});
export const openaiText = text.cases;
text.add(
  "completions-output-from-total",
  "Without completion_tokens the output is what the total has beside the prompt.",
  json({
    id: "cmpl-Conformance1",
    object: "text_completion",
    model: "gpt-3.5-turbo-instruct",
    choices: [{ index: 0, text: " wet.", finish_reason: "stop" }],
    usage: { prompt_tokens: 31, total_tokens: 99 },
  }),
  { tokens: { prompt: 31, completion: 68 }, cost: RATES.gpt35Instruct },
);
const moonshot = defineApi({
  folder: "openai-chat",
  provider: "moonshot",
  host: "api.moonshot.ai",
  path: "/v1/chat/completions",
  request: { model: "kimi-k2.5", stream: true, messages },
  source: {
    document:
      "https://platform.moonshot.ai/docs/guide/utilize-the-streaming-output-feature-of-kimi-api: choices[0].usage",
    read_on: null,
  },
  id: "cmpl-Conformance1",
});
export const moonshotStream = moonshot.cases;
moonshot.add(
  "stream-usage-in-choice",
  "The last choice of a stream states the usage, not the chunk.",
  sse([
    {
      id: "cmpl-Conformance1",
      object: "chat.completion.chunk",
      model: "kimi-k2.5",
      choices: [{ index: 0, delta: { role: "assistant", content: "Water." }, finish_reason: null }],
    },
    {
      id: "cmpl-Conformance1",
      object: "chat.completion.chunk",
      model: "kimi-k2.5",
      choices: [
        {
          index: 0,
          delta: {},
          finish_reason: "stop",
          usage: { prompt_tokens: 19, completion_tokens: 21, total_tokens: 40, cached_tokens: 16 },
        },
      ],
    },
  ]),
  {
    streaming: true,
    tokens: { prompt: 3, cache_read: 16, completion: 21 },
    cost: { input: "0.6", output: "3", cacheRead: "0.1" },
  },
);

const minimax = defineApi({
  folder: "openai-chat",
  provider: "minimax",
  host: "api.minimax.io",
  path: "/v1/chat/completions",
  request: { model: "MiniMax-M2.5", messages },
  source: {
    document: 'https://platform.minimax.io/docs, "Error codes": base_resp.status_code',
    read_on: null,
  },
  id: null,
});
export const minimaxErrors = minimax.cases;
for (const [code, text, error] of [
  [1008, "insufficient balance", ["auth", false, "1008"]],
  [1002, "rate limit", ["rate_limit", true, "1002"]],
  [1033, "system error", ["server_error", true, "1033"]],
] as const)
  minimax.add(
    `json-base-resp-${code}`,
    "An error comes with a 200 and its own code.",
    json({ id: "x", choices: null, model: "", base_resp: { status_code: code, status_msg: text } }),
    { id: "x", model: "MiniMax-M2.5", tokens: {}, complete: false, error },
  );

const watsonx = defineApi({
  folder: "openai-chat",
  provider: "watsonx",
  host: "us-south.ml.cloud.ibm.com",
  path: "/ml/v1/text/chat?version=2024-10-08",
  request: { model_id: "ibm/granite-3-8b-instruct", messages },
  source: { document: 'https://cloud.ibm.com/apidocs/watsonx-ai, "Infer text chat"', read_on: null },
  id: "chat-1",
});
export const watsonxChat = watsonx.cases;
watsonx.add(
  "watsonx-model-id",
  "The response names the model in model_id.",
  json({
    id: "chat-1",
    model_id: "ibm/granite-3-8b-instruct",
    choices: [{ index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
  }),
  {
    model: "ibm/granite-3-8b-instruct",
    requestedModel: null,
    tokens: { prompt: 10, completion: 20 },
    cost: { input: "0.2", output: "0.2" },
  },
);

const invoked = defineApi({
  folder: "bedrock",
  provider: "bedrock",
  host: "bedrock-runtime.us-east-1.amazonaws.com",
  path: "/model/us.meta.llama3-3-70b-instruct-v1%3A0/invoke",
  request: { prompt: "Why is rain wet?" },
  source: {
    document:
      "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-meta.html; model-parameters-titan-text.html",
    read_on: null,
  },
  id: null,
});
export const bedrockBodies = invoked.cases;
invoked.add(
  "invoke-llama-body",
  "Llama counts in its body, which matters where a gateway removes Bedrock's headers.",
  json({ generation: "Water.", prompt_token_count: 25, generation_token_count: 100, stop_reason: "stop" }),
  {
    model: "us.meta.llama3-3-70b-instruct-v1:0",
    requestedModel: "us.meta.llama3-3-70b-instruct-v1:0",
    tokens: { prompt: 25, completion: 100 },
    cost: { input: "0.72", output: "0.72" },
  },
);
invoked.add(
  "invoke-titan-body",
  "Titan counts the input once and the output in its results.",
  json({
    inputTextTokenCount: 8,
    results: [{ tokenCount: 40, outputText: "Water.", completionReason: "FINISH" }],
  }),
  {
    model: "amazon.titan-text-express-v1",
    requestedModel: "amazon.titan-text-express-v1",
    tokens: { prompt: 8, completion: 40 },
    cost: { input: "0.2", output: "0.6" },
  },
  { path: "/model/amazon.titan-text-express-v1/invoke" },
);

const searching = defineApi({
  folder: "openai-chat",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/chat/completions",
  request: { model: "gpt-4o-search-preview", messages },
  source: {
    document:
      "https://developers.openai.com/api/docs/guides/tools-web-search; https://developers.openai.com/api/docs/pricing",
    read_on: null,
  },
  id: "chatcmpl-Conformance1",
});
export const openaiSearching = searching.cases;
searching.add(
  "json-search-model",
  "A search model searches before it answers: $25 for 1,000 calls beside the tokens, which the usage does not show.",
  json(
    completion("chatcmpl-Conformance1", "gpt-4o-search-preview-2025-03-11", {
      prompt_tokens: 16,
      completion_tokens: 300,
      total_tokens: 316,
    }),
  ),
  {
    model: "gpt-4o-search-preview-2025-03-11",
    tokens: { prompt: 16, completion: 300 },
    cost: [
      ["input", 16, "2.5"],
      ["output", 300, "10"],
      ["request", 1, "25000"],
    ],
  },
);

text.add(
  "json-total-unexplained",
  "A total that is larger than its parts, for no stated reason: what was stated is priced, and the record is not complete.",
  json(
    completion("chatcmpl-Conformance1", "gpt-4o-2024-08-06", {
      prompt_tokens: 35,
      completion_tokens: 12,
      total_tokens: 109,
    }),
  ),
  {
    id: "chatcmpl-Conformance1",
    model: "gpt-4o-2024-08-06",
    tokens: { prompt: 35, completion: 12 },
    complete: false,
    cost: RATES.gpt4o,
  },
  { path: "/v1/chat/completions", request: { model: "gpt-4o", prompt: undefined, messages } },
);
for (const [model, inputRate, outputRate, audioInputRate, audioOutputRate] of [
  ["gpt-4o-audio-preview-2025-06-03", "2.5", "10", "40", "80"],
  ["gpt-4o-mini-audio-preview-2024-12-17", "0.15", "0.6", "10", "20"],
] as const)
  text.add(
    `json-audio-${model}`,
    "Audio tokens cost 16 to 67 times as much as text.",
    json(
      completion("chatcmpl-Conformance1", model, {
        prompt_tokens: 150,
        completion_tokens: 320,
        total_tokens: 470,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 90 },
        completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 260 },
      }),
    ),
    {
      id: "chatcmpl-Conformance1",
      model,
      tokens: { prompt: 150, cache_read: 0, completion: 320, thinking: 0 },
      extras: { audio_input_tokens: 90, audio_output_tokens: 260 },
      cost: [
        ["audio input", 90, audioInputRate],
        ["input", 60, inputRate],
        ["audio output", 260, audioOutputRate],
        ["output", 60, outputRate],
      ],
    },
    {
      path: "/v1/chat/completions",
      request: { model, prompt: undefined, messages, modalities: ["text", "audio"] },
      source: DOCUMENTS.openaiAudioPrices,
    },
  );

const residency = { source: DOCUMENTS.openaiResidency, path: "/v1/chat/completions" } as const;
for (const [host, model, rates] of [
  [
    "in.api.openai.com",
    "gpt-5-search-api-2025-10-14",
    [
      ["input", 200, "1.25"],
      ["cache read", 1000, "0.125"],
      ["output", 30, "10"],
      ["request", 1, "10000"],
    ],
  ],
  ["eu.api.openai.com", "gpt-5.4-2026-03-05", RATES.gpt54Regional],
  ["us.api.openai.com", "gpt-4o-2024-08-06", RATES.gpt4o],
] as const)
  text.add(
    `json-regional-${host.slice(0, 2)}`,
    "A regional host costs a tenth more for models since 5 March 2026, and nothing more for older ones.",
    json(
      completion("chatcmpl-Conformance1", model, {
        prompt_tokens: 1200,
        completion_tokens: 30,
        total_tokens: 1230,
        prompt_tokens_details: { cached_tokens: 1000, audio_tokens: 0 },
      }),
    ),
    {
      id: "chatcmpl-Conformance1",
      model,
      tokens: { prompt: 200, cache_read: 1000, completion: 30 },
      extras: { regional_endpoint: 1 },
      cost: rates,
    },
    { ...residency, host, request: { model, prompt: undefined, messages } },
  );

const mantle = defineApi({
  folder: "bedrock",
  provider: "bedrock",
  host: "bedrock-mantle.us-east-2.api.aws",
  path: "/openai/v1/responses",
  request: { model: "openai.gpt-5.6-sol", input: "Why is rain wet?" },
  source: DOCUMENTS.bedrockLongContext,
  id: "resp_Mantle00000000000000001",
});
export const bedrockLongContext = mantle.cases;
const response = (model: string, input: number) => ({
  id: "resp_Mantle00000000000000001",
  object: "response",
  status: "completed",
  model,
  output: [],
  usage: {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1000,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + 1000,
  },
});
const read = (prompt: number) => ({ tokens: { prompt, cache_read: 0, completion: 1000, thinking: 0 } });
mantle.add(
  "responses-272000-tokens",
  "At exactly 272,000 tokens of input, the price of the short context.",
  json(response("openai.gpt-5.6-sol", 272000)),
  { ...read(272000), cost: RATES.bedrockGpt56Sol },
);
mantle.add(
  "responses-above-272000-tokens",
  "Above 272,000 tokens of input, the price of the long context for the whole request.",
  json(response("openai.gpt-5.6-sol", 272001)),
  { ...read(272001), cost: RATES.bedrockGpt56SolLong },
);
mantle.add(
  "responses-above-a-context-window",
  "Bedrock publishes no price for GPT-5.4 above its context window of 272,000 tokens.",
  json(response("openai.gpt-5.4", 272001)),
  read(272001),
  { request: { model: "openai.gpt-5.4" } },
);

const cohereEmbed = defineApi({
  folder: "cohere",
  provider: "cohere",
  host: "api.cohere.com",
  path: "/v2/embed",
  request: { model: "embed-v4.0", input_type: "image", images: ["data:image/png;base64,"] },
  source: DOCUMENTS.cohere,
  id: "embed-image-1",
});
export const cohereImages = cohereEmbed.cases;
cohereEmbed.add(
  "embed-image",
  "Image tokens of an embedding have a rate of their own.",
  json({ id: "embed-image-1", embeddings: {}, meta: { billed_units: { image_tokens: 1610 } } }),
  {
    tokens: { prompt: 1610, completion: 0 },
    extras: { image_input_tokens: 1610 },
    cost: [["image input", 1610, "0.47"]],
  },
);

const EMBEDDING = "gemini-embedding-2";
const embed = defineApi({
  folder: "gemini-embed",
  provider: "gemini",
  host: "generativelanguage.googleapis.com",
  path: `/v1beta/models/${EMBEDDING}:embedContent`,
  pathModel: EMBEDDING,
  request: { content: { parts: [{ text: "rain" }] } },
  source: DOCUMENTS.geminiEmbeddingMedia,
  id: null,
});
export const geminiEmbedMedia = embed.cases;
const embedded = (member: string) => ({
  embedding: { values: [0.1, 0.2] },
  usageMetadata: {
    promptTokenCount: 632,
    [member]: [
      { modality: "TEXT", tokenCount: 42 },
      { modality: "IMAGE", tokenCount: 258 },
      { modality: "AUDIO", tokenCount: 200 },
      { modality: "VIDEO", tokenCount: 132 },
    ],
  },
});
const media = {
  tokens: { prompt: 632, completion: 0 },
  extras: { image_input_tokens: 258, audio_input_tokens: 200, video_input_tokens: 132 },
  cost: [
    ["audio input", 200, "6.5"],
    ["image input", 258, "0.45"],
    ["video input", 132, "12"],
    ["input", 42, "0.2"],
  ],
} as const;
embed.add(
  "json-media",
  "Images, audio and video have their own rates; the developer API states them in promptTokenDetails.",
  json(embedded("promptTokenDetails")),
  media,
);
embed.add(
  "json-media-vertex",
  "Vertex states them in promptTokensDetails.",
  json(embedded("promptTokensDetails")),
  { ...media, provider: "vertex" },
  {
    host: "aiplatform.googleapis.com",
    path: `/v1/projects/p/locations/global/publishers/google/models/${EMBEDDING}:embedContent`,
  },
);
