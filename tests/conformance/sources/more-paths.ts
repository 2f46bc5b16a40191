import type { DocumentSource } from "../case-format.ts";
import { defineApi, type RecordSpec, type WireCase } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { eventStreamMessage, json, namedSse, type Reply, raw } from "./wire.ts";

/** Single calls to paths other than a provider's main APIs, each with its own host and path. */

const cases: WireCase[] = [];

interface Call {
  folder: string;
  name: string;
  about: string;
  provider: string;
  /** `METHOD host/path`. */
  to: string;
  source: DocumentSource;
  request?: Readonly<Record<string, unknown>> | string;
  pathModel?: string;
  reply: Reply;
  records: RecordSpec | readonly RecordSpec[] | null;
}

function add({
  folder,
  name,
  about,
  provider,
  to,
  source,
  request = {},
  pathModel,
  reply,
  records,
}: Call): void {
  const [, method, host, path] = /^(\w+) ([^/]+)(.*)$/.exec(to) as unknown as string[];
  const isText = typeof request === "string";
  const api = defineApi({
    folder,
    provider,
    host: host as string,
    method: method as string,
    path: path as string,
    request: isText ? {} : request,
    source,
    ...(pathModel === undefined ? {} : { pathModel }),
    id: null,
  });
  api.add(name, about, reply, records, isText ? { request } : {});
  cases.push(...api.cases);
}

const query = { query: "rain", documents: ["a", "b"] };

add({
  folder: "rerank",
  name: "together",
  about: "A ranking is billed by its input; it has no output.",
  provider: "together",
  to: "POST api.together.xyz/v1/rerank",
  source: DOCUMENTS.rerank,
  request: { model: "Salesforce/Llama-Rank-V1", ...query },
  reply: json({
    id: "9dfa1a09-ebfc-4a40-894f-586a01b6bfbd",
    object: "rerank",
    model: "Salesforce/Llama-Rank-V1",
    results: [{ index: 0, relevance_score: 0.9, document: {} }],
    usage: { prompt_tokens: 1837, completion_tokens: 0, total_tokens: 1837 },
  }),
  records: { id: "9dfa1a09-ebfc-4a40-894f-586a01b6bfbd", tokens: { prompt: 1837, completion: 0 } },
});
add({
  folder: "rerank",
  name: "fireworks",
  about: "The total alone is the input.",
  provider: "fireworks",
  to: "POST api.fireworks.ai/inference/v1/rerank",
  source: DOCUMENTS.rerank,
  request: { model: "fireworks/qwen3-reranker-8b", ...query },
  reply: json({
    object: "list",
    model: "fireworks/qwen3-reranker-8b",
    data: [{ index: 0, relevance_score: 0.9 }],
    usage: { total_tokens: 120 },
  }),
  records: { tokens: { prompt: 120, completion: 0 } },
});
add({
  folder: "rerank",
  name: "openrouter",
  about: "OpenRouter states search units and the cost.",
  provider: "openrouter",
  to: "POST openrouter.ai/api/v1/rerank",
  source: DOCUMENTS.rerank,
  request: { model: "cohere/rerank-v3.5", ...query },
  reply: json({
    id: "gen-rerank-1234567890-abc",
    model: "cohere/rerank-v3.5",
    provider: "Cohere",
    results: [{ index: 0, relevance_score: 0.9, document: { text: "a" } }],
    usage: { search_units: 1, cost: 0.001 },
  }),
  records: {
    id: "gen-rerank-1234567890-abc",
    complete: true,
    extras: { search_units: 1 },
    providerCost: "1000000000",
    cost: "provider",
  },
});
add({
  folder: "rerank",
  name: "azure-cohere",
  about: "Cohere's API below a path of Azure.",
  provider: "azure",
  to: "POST acme.services.ai.azure.com/providers/cohere/v2/rerank",
  source: DOCUMENTS.azureCohere,
  request: { model: "Cohere-rerank-v4.0-pro", ...query },
  reply: json({
    id: "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
    results: [{ index: 0, relevance_score: 0.9 }],
    meta: { billed_units: { search_units: 1 } },
  }),
  records: {
    model: "Cohere-rerank-v4.0-pro",
    id: "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
    complete: true,
    extras: { search_units: 1 },
    cost: [["search units", 1, "2500"]],
  },
});
add({
  folder: "openrouter-images",
  name: "json",
  about: "OpenRouter's images have the usage of Chat Completions, with image tokens in the output.",
  provider: "openrouter",
  to: "POST openrouter.ai/api/v1/images",
  source: DOCUMENTS.openrouterImages,
  request: { model: "google/gemini-2.5-flash-image", prompt: "Rain." },
  reply: json({
    created: 1795262400,
    data: [{ b64_json: "AAAA", media_type: "image/png" }],
    usage: {
      prompt_tokens: 12,
      completion_tokens: 1290,
      total_tokens: 1302,
      completion_tokens_details: { image_tokens: 1290 },
      cost: 0.0387,
      is_byok: false,
    },
  }),
  records: {
    tokens: { prompt: 12, completion: 1290 },
    extras: { image_output_tokens: 1290 },
    providerCost: "38700000000",
    cost: "provider",
  },
});

const VERTEX = "us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1";
add({
  folder: "vertex-partner",
  name: "ai21-raw-predict",
  about: "The usage object tells which API a partner's model has: here that of Chat Completions.",
  provider: "vertex",
  to: `POST ${VERTEX}/publishers/ai21/models/jamba-1.6-large:rawPredict`,
  source: DOCUMENTS.vertexPartner,
  request: { model: "jamba-1.6-large", messages: [] },
  pathModel: "jamba-1.6-large",
  reply: json({
    id: "chat-9dfa1a09ebfc4a40894f",
    object: "chat.completion",
    model: "jamba-1.6-large",
    choices: [{ index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
  }),
  records: {
    id: "chat-9dfa1a09ebfc4a40894f",
    tokens: { prompt: 10, completion: 4 },
    extras: { regional_endpoint: 1 },
  },
});
add({
  folder: "vertex-partner",
  name: "endpoint-predict",
  about: "A model on an endpoint of the customer states no usage here: unknown, not free.",
  provider: "vertex",
  to: `POST ${VERTEX}/endpoints/1234567890:predict`,
  source: DOCUMENTS.vertexPartner,
  request: { instances: [{ prompt: "Rain." }] },
  pathModel: "1234567890",
  reply: json({ predictions: ["Water."], deployedModelId: "1" }),
  records: { model: "1234567890", extras: { regional_endpoint: 1 } },
});
add({
  folder: "gemini-predict",
  name: "imagen",
  about: "Imagen at the developer API: two images, no tokens, and no price for them in the list.",
  provider: "gemini",
  to: "POST generativelanguage.googleapis.com/v1beta/models/imagen-4.0-generate-001:predict",
  source: DOCUMENTS.vertexImages,
  request: { instances: [{ prompt: "Rain." }] },
  pathModel: "imagen-4.0-generate-001",
  reply: json({
    predictions: [
      { mimeType: "image/png", bytesBase64Encoded: "AAAA" },
      { mimeType: "image/png", bytesBase64Encoded: "AAAA" },
    ],
  }),
  records: { complete: true, extras: { generated_images: 2 } },
});
add({
  folder: "gemini-predict",
  name: "veo",
  about: "A video is a long-running operation that states no usage.",
  provider: "gemini",
  to: "POST generativelanguage.googleapis.com/v1beta/models/veo-3.1-generate-preview:predictLongRunning",
  source: DOCUMENTS.vertexImages,
  request: { instances: [{ prompt: "Rain." }] },
  pathModel: "veo-3.1-generate-preview",
  reply: json({ name: "models/veo-3.1-generate-preview/operations/abc123" }),
  records: {},
});
add({
  folder: "gemini-cached-contents",
  name: "created",
  about: "The tokens of a new cache are billed once as input, and for each hour of its lifetime.",
  provider: "gemini",
  to: "POST generativelanguage.googleapis.com/v1beta/cachedContents",
  source: DOCUMENTS.cachedContents,
  request: { model: "models/gemini-2.5-flash", contents: [], ttl: "7200s" },
  reply: json({
    name: "cachedContents/4jnde961o3a7szx6sfeh2uno5",
    model: "models/gemini-2.5-flash",
    createTime: "2026-11-21T12:00:00.000000Z",
    updateTime: "2026-11-21T12:00:00.000000Z",
    expireTime: "2026-11-21T14:00:00.000000Z",
    usageMetadata: { totalTokenCount: 10_000 },
  }),
  records: {
    model: "gemini-2.5-flash",
    requestedModel: "models/gemini-2.5-flash",
    id: "cachedContents/4jnde961o3a7szx6sfeh2uno5",
    tokens: { prompt: 0, cache_read: 0, cache_write: 10_000, completion: 0 },
    extras: { cache_storage_token_hours: 20_000 },
  },
});
add({
  folder: "gemini-cached-contents",
  name: "read",
  about: "Reading a cache repeats its usage: no record.",
  provider: "gemini",
  to: "GET generativelanguage.googleapis.com/v1beta/cachedContents/4jnde961o3a7szx6sfeh2uno5",
  source: DOCUMENTS.cachedContents,
  reply: json({
    name: "cachedContents/4jnde961o3a7szx6sfeh2uno5",
    model: "models/gemini-2.5-flash",
    usageMetadata: { totalTokenCount: 10_000 },
  }),
  records: null,
});

const AWS_STREAM = {
  headers: [
    ["Content-Type", "application/vnd.amazon.eventstream"],
    ["x-amzn-RequestId", "0a1b2c3d-0000-4000-8000-000000000001"],
  ] as const,
  streams: true,
  framing: "chunked" as const,
};
const frame = (type: string, payload: object) =>
  eventStreamMessage(
    { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
    payload,
  );
const AGENT =
  "bedrock-agent-runtime.us-east-1.amazonaws.com/agents/AGENT12345/agentAliases/TSTALIASID/sessions/s1/text";
const trace = (step: object) =>
  frame("trace", { agentId: "AGENT12345", trace: { orchestrationTrace: step } });
add({
  folder: "bedrock-agents",
  name: "traces",
  about: "With traces, the usage of each model request is stated: the record has their sum.",
  provider: "bedrock",
  to: `POST ${AGENT}`,
  source: DOCUMENTS.bedrockAgents,
  request: { inputText: "Why is rain wet?", enableTrace: true },
  reply: raw(
    [
      trace({
        modelInvocationInput: { foundationModel: "anthropic.claude-haiku-4-5-20251001-v1:0", text: "" },
      }),
      trace({ modelInvocationOutput: { metadata: { usage: { inputTokens: 500, outputTokens: 40 } } } }),
      trace({ modelInvocationOutput: { metadata: { usage: { inputTokens: 700, outputTokens: 60 } } } }),
      frame("chunk", { bytes: Buffer.from("Water.").toString("base64") }),
    ],
    AWS_STREAM,
  ),
  records: {
    model: "anthropic.claude-haiku-4-5-20251001-v1:0",
    requestedModel: null,
    streaming: true,
    id: "0a1b2c3d-0000-4000-8000-000000000001",
    tokens: { prompt: 1200, completion: 100 },
    cost: RATES.bedrockHaikuRegional,
  },
});
add({
  folder: "bedrock-agents",
  name: "no-traces",
  about: "Without traces the tokens are unknown.",
  provider: "bedrock",
  to: `POST ${AGENT}`,
  source: DOCUMENTS.bedrockAgents,
  request: { inputText: "Why is rain wet?" },
  reply: raw([frame("chunk", { bytes: Buffer.from("Water.").toString("base64") })], AWS_STREAM),
  records: { streaming: true, id: "0a1b2c3d-0000-4000-8000-000000000001" },
});
const sonic = (input: [number, number], output: [number, number]) =>
  frame("chunk", {
    bytes: Buffer.from(
      JSON.stringify({
        event: {
          usageEvent: {
            completionId: "c",
            details: {
              delta: {
                input: { speechTokens: 1, textTokens: 0 },
                output: { speechTokens: 0, textTokens: 0 },
              },
              total: {
                input: { speechTokens: input[0], textTokens: input[1] },
                output: { speechTokens: output[0], textTokens: output[1] },
              },
            },
            totalInputTokens: input[0] + input[1],
            totalOutputTokens: output[0] + output[1],
            totalTokens: input[0] + input[1] + output[0] + output[1],
          },
        },
      }),
    ).toString("base64"),
  });
add({
  folder: "bedrock-agents",
  name: "bidirectional",
  about: "Each usage event has the totals so far; the last one counts, with speech apart from text.",
  provider: "bedrock",
  to: "POST bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-sonic-v1:0/invoke-with-bidirectional-stream",
  source: DOCUMENTS.novaSonic,
  pathModel: "amazon.nova-sonic-v1:0",
  reply: raw([sonic([30, 100], [0, 0]), sonic([50, 100], [80, 20])], AWS_STREAM),
  records: {
    streaming: true,
    id: "0a1b2c3d-0000-4000-8000-000000000001",
    tokens: { prompt: 150, completion: 100 },
    extras: { audio_input_tokens: 50, audio_output_tokens: 80 },
    cost: [
      ["audio input", 50, "3.4"],
      ["input", 100, "0.06"],
      ["audio output", 80, "13.6"],
      ["output", 20, "0.24"],
    ],
  },
});

add({
  folder: "cohere-other",
  name: "generate",
  about: "Generate states what is billed as Chat does.",
  provider: "cohere",
  to: "POST api.cohere.com/v1/generate",
  source: DOCUMENTS.cohereTypes,
  request: { model: "command-r-08-2024", prompt: "Rain." },
  reply: json({
    id: "2b1d9f0c-6d5e-4f3a-8b7c-0123456789ab",
    generations: [{ id: "g", text: "Water." }],
    meta: { api_version: { version: "1" }, billed_units: { input_tokens: 4, output_tokens: 2 } },
  }),
  records: {
    model: "command-r-08-2024",
    id: "2b1d9f0c-6d5e-4f3a-8b7c-0123456789ab",
    tokens: { prompt: 4, completion: 2 },
    cost: RATES.commandR,
  },
});
add({
  folder: "cohere-other",
  name: "classify",
  about: "Classify is billed by the classification.",
  provider: "cohere",
  to: "POST api.cohere.com/v1/classify",
  source: DOCUMENTS.cohereTypes,
  request: { model: "embed-english-v3.0", inputs: ["a", "b"] },
  reply: json({
    id: "2b1d9f0c-6d5e-4f3a-8b7c-0123456789ac",
    classifications: [],
    meta: { billed_units: { classifications: 2 } },
  }),
  records: {
    model: "embed-english-v3.0",
    id: "2b1d9f0c-6d5e-4f3a-8b7c-0123456789ac",
    complete: true,
    extras: { classifications: 2 },
  },
});
add({
  folder: "cohere-other",
  name: "transcription",
  about: "A transcription states no usage.",
  provider: "cohere",
  to: "POST api.cohere.com/v2/audio/transcriptions",
  source: DOCUMENTS.cohereTypes,
  reply: json({ text: "Rain." }),
  records: { requestedModel: null },
});

add({
  folder: "other-units",
  name: "openai-container",
  about: "A container is billed by itself.",
  provider: "openai",
  to: "POST api.openai.com/v1/containers",
  source: DOCUMENTS.containers,
  request: { name: "rain" },
  reply: json({
    id: "cntr_682e0e7318108198aa783fd921ff305e",
    object: "container",
    status: "running",
    name: "rain",
  }),
  records: {
    id: "cntr_682e0e7318108198aa783fd921ff305e",
    requestedModel: null,
    complete: true,
    extras: { containers: 1 },
  },
});
add({
  folder: "other-units",
  name: "openai-realtime-call",
  about: "A call over WebRTC is set up here; its usage passes elsewhere and is unknown.",
  provider: "openai",
  to: "POST api.openai.com/v1/realtime/calls",
  source: DOCUMENTS.openaiRealtime,
  request: "v=0\r\n",
  reply: raw(["v=0\r\n"], { status: 201, headers: [["Content-Type", "application/sdp"]] }),
  records: { requestedModel: null, status: 201 },
});
add({
  folder: "other-units",
  name: "perplexity-search",
  about: "A search states no usage.",
  provider: "perplexity",
  to: "POST api.perplexity.ai/search",
  source: DOCUMENTS.perplexitySearch,
  request: { query: "rain" },
  reply: json({ id: "e38104d5-6bd7-4d82-bc4e-0a21179d1f77", results: [], server_time: null }),
  records: { id: "e38104d5-6bd7-4d82-bc4e-0a21179d1f77", requestedModel: null },
});
add({
  folder: "other-units",
  name: "perplexity-agent",
  about: "The Agent API answers as Responses does, with Perplexity's own cost.",
  provider: "perplexity",
  to: "POST api.perplexity.ai/v1/agent",
  source: DOCUMENTS.perplexitySearch,
  request: { model: "openai/gpt-5", input: "Why is rain wet?" },
  reply: json({
    id: "resp_1234567890abcdef1234",
    object: "response",
    status: "completed",
    model: "openai/gpt-5",
    output: [],
    usage: {
      input_tokens: 100,
      output_tokens: 10,
      total_tokens: 110,
      cost: { currency: "USD", input_cost: 0.0001, output_cost: 0.0001, total_cost: 0.0002 },
    },
  }),
  records: {
    id: "resp_1234567890abcdef1234",
    tokens: { prompt: 100, completion: 10 },
    providerCost: "200000000",
    cost: "provider",
  },
});
add({
  folder: "other-units",
  name: "xai-tts",
  about: "Speech is bytes without usage.",
  provider: "xai",
  to: "POST api.x.ai/v1/tts",
  source: DOCUMENTS.xaiVoice,
  request: { text: "Rain.", voice_id: "eve", language: "en" },
  reply: raw(["ID3"], { headers: [["Content-Type", "audio/mpeg"]] }),
  records: { requestedModel: null },
});
add({
  folder: "other-units",
  name: "xai-stt",
  about: "A transcription states its duration, by which it is billed.",
  provider: "xai",
  to: "POST api.x.ai/v1/stt",
  source: DOCUMENTS.xaiVoice,
  reply: json({ text: "Rain.", language: "en", duration: 2.5, words: [] }),
  records: { requestedModel: null, complete: true, extras: { audio_milliseconds: 2500 } },
});

const spanUsage = {
  input_tokens: 300,
  output_tokens: 20,
  cache_read_input_tokens: 1000,
  cache_creation_input_tokens: 0,
};
const SPAN = "sevt_01HqR2k7vXbZ9mNpL3wYcT8f";
const span = (id: string) => ({
  id,
  type: "span.model_request_end",
  is_error: false,
  model_request_start_id: "sevt_start",
  model_usage: spanUsage,
  processed_at: "2026-11-21T12:00:00Z",
});
const spanRecord = {
  model: "unknown",
  requestedModel: null,
  tokens: { prompt: 300, cache_read: 1000, cache_write: 0, cache_write_1h: 0, completion: 20 },
};
add({
  folder: "anthropic-sessions",
  name: "event-stream",
  about: "Each model request of a session is a record; the session's running totals are none.",
  provider: "anthropic",
  to: "GET api.anthropic.com/v1/sessions/sesn_011CZkZAtmR3yMPDzynEDxu7/events/stream",
  source: DOCUMENTS.anthropicSessions,
  reply: namedSse([
    { type: "session.status_running" },
    span(SPAN),
    { type: "session.usage", id: "sevt_usage", usage: { ...spanUsage, list_cost: {} } } as { type: string },
    {
      type: "span.outcome_evaluation_end",
      id: "sevt_01HqR2k7vXbZ9mNpL3wYcT8g",
      usage: { ...spanUsage, speed: "fast" },
    } as { type: string },
  ]),
  records: [
    { ...spanRecord, id: SPAN, streaming: true },
    { ...spanRecord, id: "sevt_01HqR2k7vXbZ9mNpL3wYcT8g", streaming: true, extras: { fast_mode: 1 } },
  ],
});
add({
  folder: "anthropic-sessions",
  name: "event-list",
  about: "The same events as a list.",
  provider: "anthropic",
  to: "GET api.anthropic.com/v1/sessions/sesn_011CZkZAtmR3yMPDzynEDxu7/events",
  source: DOCUMENTS.anthropicSessions,
  reply: json({ data: [{ id: "sevt_1", type: "user.message", content: [] }, span(SPAN)], next_page: null }),
  records: { ...spanRecord, id: SPAN },
});
add({
  folder: "anthropic-sessions",
  name: "session",
  about: "The session repeats the totals of its events: no record.",
  provider: "anthropic",
  to: "GET api.anthropic.com/v1/sessions/sesn_011CZkZAtmR3yMPDzynEDxu7",
  source: DOCUMENTS.anthropicSessions,
  reply: json({ id: "sesn_011CZkZAtmR3yMPDzynEDxu7", type: "session", status: "idle", usage: spanUsage }),
  records: null,
});

/** The cases of these calls. */
export const morePaths: readonly WireCase[] = cases;
