import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { json, namedSse, raw, sse } from "./wire.ts";

/** Providers with an API or units of their own, and hosts that relay other APIs. Their models have no bundled rates here. */

const messages = [{ role: "user", content: "Why is rain wet?" }];
const chat = (model: string, usage: unknown) => ({
  id: "h-1",
  object: "chat.completion",
  created: 1795262400,
  model,
  choices: [{ index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" }],
  usage,
});
const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
const tokens = { prompt: 12, completion: 5 };

const gateways = defineApi({
  folder: "gateways",
  provider: "vercel",
  host: "ai-gateway.vercel.sh",
  path: "/v1/chat/completions",
  request: { model: "acme/model-1", messages },
  source: DOCUMENTS.vercelGateway,
  id: "h-1",
});
gateways.add("vercel-chat", "Chat Completions on a gateway.", json(chat("acme/model-1", usage)), { tokens });
gateways.add(
  "vercel-language-model",
  "The ai package's own protocol: flat totals that include their parts, and the price as text.",
  json({
    content: [{ type: "text", text: "Water." }],
    finishReason: "stop",
    usage: {
      inputTokens: 100,
      outputTokens: 40,
      totalTokens: 140,
      reasoningTokens: 10,
      cachedInputTokens: 60,
    },
    response: { id: "h-2", modelId: "acme/model-1" },
    providerMetadata: { gateway: { cost: "0.00125" } },
  }),
  {
    id: "h-2",
    model: "acme/model-1",
    requestedModel: null,
    tokens: { prompt: 40, cache_read: 60, completion: 30, thinking: 10 },
    providerCost: "1250000000",
    cost: "provider",
  },
  { path: "/v1/ai/language-model", request: { model: undefined, messages: undefined, prompt: messages } },
);
gateways.add(
  "vercel-language-model-stream",
  "A stream names the model in response-metadata and states usage in finish, here in the nested form.",
  sse([
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", id: "h-3", modelId: "model-1" },
    { type: "text-delta", id: "0", delta: "Water." },
    {
      type: "finish",
      finishReason: "stop",
      usage: {
        inputTokens: { total: 100, noCache: 30, cacheRead: 50, cacheWrite: 20 },
        outputTokens: { total: 9, text: 9, reasoning: 0 },
      },
    },
  ]),
  {
    id: "h-3",
    streaming: true,
    model: "model-1",
    requestedModel: null,
    tokens: { prompt: 30, cache_read: 50, cache_write: 20, completion: 9, thinking: 0 },
  },
  { path: "/v3/ai/language-model", request: { model: undefined, messages: undefined, prompt: messages } },
);
gateways.add(
  "vercel-embedding-model",
  "An embedding states its tokens, and has no output.",
  json({ embeddings: [[0.1]], usage: { tokens: 8 } }),
  { id: null, model: "unknown", requestedModel: null, tokens: { prompt: 8, completion: 0 } },
  { path: "/v1/ai/embedding-model", request: { model: undefined, messages: undefined, values: ["rain"] } },
);
gateways.add(
  "cloudflare-passes-anthropic",
  "A call through Cloudflare's gateway belongs to the provider that the path names.",
  json({
    id: "msg_h1",
    type: "message",
    role: "assistant",
    model: "acme-model",
    content: [],
    stop_reason: "end_turn",
    usage: { input_tokens: 12, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  }),
  {
    id: "msg_h1",
    provider: "anthropic",
    requestedModel: "acme-model",
    model: "acme-model",
    tokens: { prompt: 12, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 5 },
  },
  {
    host: "gateway.ai.cloudflare.com",
    path: "/v1/account/gateway/anthropic/v1/messages",
    request: { model: "acme-model", max_tokens: 5 },
    source: DOCUMENTS.anthropicUsage,
  },
);
gateways.add(
  "copilot-stream",
  "GitHub Copilot streams Chat Completions and states usage at the end.",
  sse([
    {
      id: "h-4",
      model: "acme-1",
      choices: [{ index: 0, delta: { content: "Water." }, finish_reason: null }],
    },
    {
      id: "h-4",
      model: "acme-1",
      choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      usage: { ...usage, prompt_tokens_details: { cached_tokens: 4 } },
    },
    "[DONE]",
  ]),
  {
    id: "h-4",
    provider: "github-copilot",
    requestedModel: "acme-1",
    model: "acme-1",
    tokens: { prompt: 8, cache_read: 4, completion: 5 },
  },
  {
    host: "api.individual.githubcopilot.com",
    path: "/chat/completions",
    request: { model: "acme-1", stream: true },
    source: DOCUMENTS.openaiChat,
  },
);
gateways.add(
  "dashscope-native-stream",
  "DashScope's own API repeats the usage so far in every event; the last one counts. Its responses name no model.",
  sse([
    {
      output: { choices: [] },
      usage: { input_tokens: 12, output_tokens: 1, total_tokens: 13 },
      request_id: "r",
    },
    {
      output: { choices: [] },
      usage: { input_tokens: 12, output_tokens: 5, total_tokens: 17 },
      request_id: "r",
    },
  ]),
  { id: null, provider: "alibaba", requestedModel: "acme-q", model: "acme-q", tokens },
  {
    host: "dashscope-intl.aliyuncs.com",
    path: "/api/v1/services/aigc/text-generation/generation",
    request: { model: "acme-q", messages: undefined, input: { messages }, stream: true },
    source: DOCUMENTS.dashscope,
  },
);

const clouds = defineApi({
  folder: "small-clouds",
  provider: "watsonx",
  host: "us-south.ml.cloud.ibm.com",
  path: "/ml/v1/text/generation?version=2024-10-08",
  request: { model_id: "ibm/acme", input: "Why is rain wet?" },
  source: DOCUMENTS.watsonx,
  id: null,
});
const generated = (input: number, output: number) => ({
  model_id: "ibm/acme",
  results: [
    {
      generated_text: "Water.",
      generated_token_count: output,
      input_token_count: input,
      stop_reason: "eos_token",
    },
  ],
});
clouds.add("watsonx-generation", "Each result states its tokens.", json(generated(12, 5)), {
  model: "ibm/acme",
  tokens,
});
clouds.add(
  "watsonx-generation-stream",
  "The events repeat the counts so far, and later ones may state no input.",
  namedSse([
    { type: "message", ...generated(12, 1) },
    { type: "message", ...generated(0, 5) },
  ]),
  { model: "ibm/acme", tokens, streaming: true },
  { path: "/ml/v1/text/generation_stream" },
);
clouds.add(
  "watsonx-embeddings",
  "Embeddings state one input count.",
  json({ model_id: "ibm/acme", results: [{ embedding: [0.1] }], input_token_count: 12 }),
  { model: "ibm/acme", tokens: { prompt: 12, completion: 0 } },
  { path: "/ml/v1/text/embeddings" },
);
const oci = {
  host: "inference.generativeai.us-chicago-1.oci.oraclecloud.com",
  path: "/20231130/actions/chat",
  request: { model_id: undefined, input: undefined, chatRequest: { messages } },
  source: DOCUMENTS.oci,
};
clouds.add(
  "oci-chat",
  "Totals in camel case that include cached and reasoning tokens.",
  json({
    modelId: "acme.oci",
    chatResponse: {
      choices: [],
      usage: {
        promptTokens: 20,
        completionTokens: 9,
        totalTokens: 29,
        promptTokensDetails: { cachedTokens: 8 },
        completionTokensDetails: { reasoningTokens: 4 },
      },
    },
  }),
  {
    provider: "oci",
    model: "acme.oci",
    tokens: { prompt: 12, cache_read: 8, completion: 5, thinking: 4 },
  },
  oci,
);
clouds.add(
  "oci-chat-stream",
  "The last event of a stream states the usage.",
  sse([
    { message: { role: "ASSISTANT", content: [{ type: "TEXT", text: "Water." }] } },
    { finishReason: "stop", usage: { promptTokens: 12, completionTokens: 5, totalTokens: 17 } },
  ]),
  { provider: "oci", tokens, streaming: false },
  oci,
);
clouds.add(
  "sagemaker-language-model",
  "An endpoint whose response has the form of Chat Completions.",
  json(chat("acme", usage)),
  { provider: "sagemaker", id: "h-1", model: "acme", requestedModel: "llama", tokens },
  {
    host: "runtime.sagemaker.us-east-1.amazonaws.com",
    path: "/endpoints/llama/invocations",
    request: { model_id: undefined, input: undefined, messages },
    source: DOCUMENTS.sagemaker,
  },
);
clouds.add(
  "sagemaker-forecast",
  "An endpoint that answers without usage may be any model, so its calls are no records.",
  json({ predictions: [0.4] }),
  null,
  {
    host: "runtime.sagemaker.us-east-1.amazonaws.com",
    path: "/endpoints/forecast/invocations",
    request: { model_id: undefined, input: undefined, instances: [1] },
    source: DOCUMENTS.sagemaker,
  },
);

const units = defineApi({
  folder: "stated-units",
  provider: "elevenlabs",
  host: "api.elevenlabs.io",
  path: "/v1/text-to-speech/voice-1/stream",
  request: { text: "Water.", model_id: "eleven_multilingual_v2" },
  source: DOCUMENTS.elevenlabs,
  id: null,
});
const media = [["Content-Type", "audio/mpeg"]] as const;
units.add(
  "elevenlabs-speech",
  "The header states the characters that are billed.",
  raw(["ID3"], { headers: [...media, ["character-cost", "6"]] }),
  { complete: true, extras: { billable_characters: 6 } },
);
units.add(
  "elevenlabs-unstated",
  "Without the header, the units are unknown.",
  raw(["ID3"], { headers: media }),
  {
    complete: false,
  },
);
units.add(
  "deepgram-listen",
  "A transcription states its duration in seconds.",
  json({ metadata: { request_id: "dg-1", duration: 25.933313, channels: 1 }, results: { channels: [] } }),
  { provider: "deepgram", id: "dg-1", complete: true, extras: { audio_milliseconds: 25933 } },
  {
    host: "api.deepgram.com",
    path: "/v1/listen?model=nova-3",
    request: { text: undefined, url: "x" },
    source: DOCUMENTS.deepgram,
  },
);
units.add(
  "deepgram-speak",
  "Speech states its characters and its model in headers.",
  raw(["ID3"], { headers: [...media, ["dg-model-name", "aura-2-thalia-en"], ["dg-char-count", "6"]] }),
  { provider: "deepgram", model: "aura-2-thalia-en", complete: true, extras: { billable_characters: 6 } },
  { host: "api.deepgram.com", path: "/v1/speak", source: DOCUMENTS.deepgram },
);
units.add(
  "assemblyai-transcript",
  "A finished transcript states its duration.",
  json({ id: "aai-1", status: "completed", audio_duration: 281, text: "Water." }),
  { provider: "assemblyai", id: "aai-1", complete: true, extras: { audio_milliseconds: 281000 } },
  { host: "api.assemblyai.com", path: "/v2/transcript/aai-1", method: "GET", source: DOCUMENTS.assemblyai },
);
units.add(
  "assemblyai-queued",
  "A transcript that is not finished makes no record.",
  json({ id: "aai-2", status: "queued", audio_duration: null }),
  null,
  { host: "api.assemblyai.com", path: "/v2/transcript/aai-2", method: "GET", source: DOCUMENTS.assemblyai },
);
units.add(
  "replicate-prediction",
  "A language model's prediction states its time and its tokens.",
  json({
    id: "rep-1",
    model: "acme/llama",
    status: "succeeded",
    metrics: { predict_time: 1.25, input_token_count: 12, output_token_count: 5 },
  }),
  {
    provider: "replicate",
    id: "rep-1",
    requestedModel: "acme/llama",
    model: "acme/llama",
    tokens,
    extras: { compute_milliseconds: 1250 },
  },
  {
    host: "api.replicate.com",
    path: "/v1/models/acme/llama/predictions",
    request: { text: undefined, input: { prompt: "x" } },
    source: DOCUMENTS.replicate,
  },
);
units.add(
  "fal-billable-units",
  "The header states units of the model, with a fraction.",
  json(
    { video: { url: "https://x.test/v.mp4" } },
    {
      headers: [
        ["Content-Type", "application/json"],
        ["x-fal-billable-units", "3.008"],
        ["x-fal-request-id", "fal-1"],
      ],
    },
  ),
  {
    provider: "fal",
    id: "fal-1",
    requestedModel: "acme/video",
    model: "acme/video",
    complete: true,
    extras: { billable_unit_thousandths: 3008 },
  },
  { host: "fal.run", path: "/acme/video", source: DOCUMENTS.fal },
);

const local = defineApi({
  folder: "local-servers",
  provider: "llama-cpp",
  free: true,
  scheme: "http",
  host: "localhost",
  port: 8080,
  path: "/v1/chat/completions",
  request: { model: "acme-local", messages },
  source: DOCUMENTS.openaiChat,
  id: "h-1",
});
local.add("llama-cpp-chat", "A server on its usual port.", json(chat("acme-local", usage)), { tokens });
local.add("other-program", "Another program on the same port is ignored.", json({ user: "me" }), null, {
  path: "/login",
});

export const hosts = [...gateways.cases, ...clouds.cases, ...units.cases, ...local.cases];
