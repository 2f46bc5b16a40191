import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { bytesOf, eventStreamMessage, json, namedSse, type ReplyOptions, raw, sse } from "./wire.ts";

/** The makers' models on Google's, Amazon's and Microsoft's clouds. */

const contents = [{ role: "user", parts: [{ text: "Why is rain wet?" }] }];
const messages = [{ role: "user", content: "Why is rain wet?" }];

const v = defineApi({
  folder: "vertex",
  provider: "vertex",
  host: "aiplatform.googleapis.com",
  path: "/v1/projects/p-1/locations/global/publishers/google/models/gemini-2.5-flash:generateContent",
  pathModel: "gemini-2.5-flash",
  request: { contents },
  source: DOCUMENTS.geminiUsage,
  id: "vertex-response-0000001",
});
export const vertex = v.cases;

const gemini = (usageMetadata: object) => ({
  candidates: [{ content: { role: "model", parts: [{ text: "Water." }] }, finishReason: "STOP" }],
  usageMetadata,
  modelVersion: "gemini-2.5-flash",
  createTime: "2026-11-21T12:00:00.000Z",
  responseId: "vertex-response-0000001",
});
v.add(
  "gemini-json",
  "trafficType says how the request was served; on demand is the list's price.",
  json(
    gemini({
      promptTokenCount: 8,
      candidatesTokenCount: 40,
      thoughtsTokenCount: 60,
      totalTokenCount: 108,
      trafficType: "ON_DEMAND",
    }),
  ),
  {
    tokens: { prompt: 8, cache_read: 0, completion: 40, thinking: 60 },
    tier: "on_demand",
    cost: RATES.gemini25Flash,
  },
);
v.add(
  "gemini-stream-flex",
  "Flex traffic costs half.",
  sse([
    gemini({ promptTokenCount: 8, totalTokenCount: 8, trafficType: "ON_DEMAND_FLEX" }),
    gemini({
      promptTokenCount: 8,
      candidatesTokenCount: 40,
      totalTokenCount: 48,
      trafficType: "ON_DEMAND_FLEX",
    }),
  ]),
  {
    streaming: true,
    tokens: { prompt: 8, cache_read: 0, completion: 40, thinking: 0 },
    tier: "on_demand_flex",
    cost: RATES.gemini25FlashFlex,
  },
  {
    source: DOCUMENTS.geminiTiers,
    path: "/v1/projects/p-1/locations/global/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
  },
);
v.add(
  "gemini-provisioned",
  "Provisioned throughput is paid by the month: no price for a request.",
  json(
    gemini({
      promptTokenCount: 8,
      candidatesTokenCount: 40,
      totalTokenCount: 48,
      trafficType: "PROVISIONED_THROUGHPUT",
    }),
  ),
  { tokens: { prompt: 8, cache_read: 0, completion: 40, thinking: 0 }, tier: "provisioned_throughput" },
  { source: DOCUMENTS.geminiTiers },
);
v.add(
  "claude-raw-predict",
  "Claude's own answer; the model stands in the path.",
  json({
    id: "msg_vrtx_Conformance0001",
    type: "message",
    role: "assistant",
    model: "claude-haiku-4-5-20251001",
    content: [],
    stop_reason: "end_turn",
    usage: {
      input_tokens: 30,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 100,
      output_tokens: 9,
    },
  }),
  {
    model: "claude-haiku-4-5-20251001",
    requestedModel: "claude-haiku-4-5@20251001",
    id: "msg_vrtx_Conformance0001",
    tokens: { prompt: 30, cache_read: 100, cache_write: 0, cache_write_1h: 0, completion: 9 },
    cost: RATES.haiku45,
  },
  {
    source: DOCUMENTS.anthropicUsage,
    host: "aiplatform.googleapis.com",
    path: "/v1/projects/p-1/locations/global/publishers/anthropic/models/claude-haiku-4-5@20251001:rawPredict",
    request: { contents: undefined, anthropic_version: "vertex-2023-10-16", max_tokens: 10, messages },
  },
);
v.add(
  "claude-stream",
  "Claude's own stream.",
  namedSse([
    {
      type: "message_start",
      message: {
        id: "msg_vrtx_Conformance0002",
        model: "claude-haiku-4-5-20251001",
        usage: { input_tokens: 12, output_tokens: 1 },
      },
    } as { type: string },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 40 } } as {
      type: string;
    },
    { type: "message_stop" },
  ]),
  {
    model: "claude-haiku-4-5-20251001",
    requestedModel: "claude-haiku-4-5@20251001",
    id: "msg_vrtx_Conformance0002",
    tokens: { prompt: 12, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 40 },
    cost: RATES.haiku45,
  },
  {
    source: DOCUMENTS.anthropicStreaming,
    host: "aiplatform.googleapis.com",
    path: "/v1/projects/p-1/locations/global/publishers/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict",
    request: {
      contents: undefined,
      anthropic_version: "vertex-2023-10-16",
      max_tokens: 10,
      stream: true,
      messages,
    },
  },
);
v.add(
  "openai-shape",
  "The compatible endpoint; its model carries the publisher's name.",
  json({
    id: "vertex-openai-00000000001",
    object: "chat.completion",
    model: "google/gemini-2.5-flash",
    choices: [],
    usage: { prompt_tokens: 20, completion_tokens: 30, total_tokens: 50 },
  }),
  {
    model: "google/gemini-2.5-flash",
    id: "vertex-openai-00000000001",
    tokens: { prompt: 20, completion: 30 },
    cost: RATES.gemini25Flash,
  },
  {
    source: DOCUMENTS.openaiChat,
    path: "/v1/projects/p-1/locations/global/endpoints/openapi/chat/completions",
    request: { contents: undefined, model: "google/gemini-2.5-flash", messages },
  },
);
v.add(
  "claude-regional",
  "A regional endpoint costs a tenth more for models since Claude Sonnet 4.5.",
  json({
    id: "msg_vrtx_Conformance0003",
    type: "message",
    role: "assistant",
    model: "claude-haiku-4-5-20251001",
    content: [],
    stop_reason: "end_turn",
    usage: {
      input_tokens: 30,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 100,
      output_tokens: 9,
    },
  }),
  {
    model: "claude-haiku-4-5-20251001",
    requestedModel: "claude-haiku-4-5@20251001",
    id: "msg_vrtx_Conformance0003",
    tokens: { prompt: 30, cache_read: 100, cache_write: 0, cache_write_1h: 0, completion: 9 },
    extras: { regional_endpoint: 1 },
    cost: RATES.bedrockHaikuRegional,
  },
  {
    source: DOCUMENTS.anthropicPricing,
    host: "us-east5-aiplatform.googleapis.com",
    path: "/v1/projects/p-1/locations/us-east5/publishers/anthropic/models/claude-haiku-4-5@20251001:rawPredict",
    request: { contents: undefined, anthropic_version: "vertex-2023-10-16", max_tokens: 10, messages },
  },
);
v.add(
  "error-rate-limit",
  "Too many requests.",
  json(
    {
      error: {
        code: 429,
        message: "Resource exhausted, please try again later.",
        status: "RESOURCE_EXHAUSTED",
      },
    },
    { status: 429 },
  ),
  { error: ["rate_limit", true, "RESOURCE_EXHAUSTED"] },
  { source: DOCUMENTS.vertexErrors },
);

const ca = defineApi({
  folder: "code-assist",
  provider: "code-assist",
  host: "cloudcode-pa.googleapis.com",
  path: "/v1internal:generateContent",
  request: { model: "gemini-2.5-pro", project: "p-1", request: { contents } },
  source: DOCUMENTS.geminiUsage,
  id: null,
});
export const codeAssist = ca.cases;
const nested = (usageMetadata: object) => ({
  response: { candidates: [], usageMetadata, modelVersion: "gemini-2.5-pro" },
  traceId: "t-1",
});
ca.add(
  "json",
  "The answer is nested in response; a plan covers the call, so that the cost is what the API would charge.",
  json(
    nested({
      promptTokenCount: 500,
      cachedContentTokenCount: 400,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
      totalTokenCount: 550,
    }),
  ),
  {
    tokens: { prompt: 100, cache_read: 400, completion: 20, thinking: 30 },
    cost: RATES.gemini25Pro,
  },
);
ca.add(
  "stream",
  "Each event nests its answer; the last usage wins.",
  sse([
    nested({ promptTokenCount: 500, totalTokenCount: 500 }),
    nested({ promptTokenCount: 500, candidatesTokenCount: 20, totalTokenCount: 520 }),
  ]),
  {
    streaming: true,
    tokens: { prompt: 500, cache_read: 0, completion: 20, thinking: 0 },
    cost: RATES.gemini25Pro,
  },
  { path: "/v1internal:streamGenerateContent?alt=sse" },
);
ca.add(
  "settings-are-free",
  "What an editor asks besides is free.",
  json({ currentTier: { id: "free-tier" } }),
  null,
  { path: "/v1internal:loadCodeAssist" },
);

const HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
const b = defineApi({
  folder: "bedrock",
  provider: "bedrock",
  host: "bedrock-runtime.us-east-1.amazonaws.com",
  path: `/model/${encodeURIComponent(HAIKU)}/converse`,
  pathModel: HAIKU,
  request: { messages: [{ role: "user", content: [{ text: "Why is rain wet?" }] }] },
  source: DOCUMENTS.bedrockConverse,
  id: "f0e1d2c3-0000-4000-8000-000000000001",
});
export const bedrock = b.cases;

const REQUEST_ID = ["x-amzn-RequestId", "f0e1d2c3-0000-4000-8000-000000000001"] as const;
const awsJson: ReplyOptions = { headers: [["Content-Type", "application/json"], REQUEST_ID] };
const awsStream: ReplyOptions = {
  headers: [["Content-Type", "application/vnd.amazon.eventstream"], REQUEST_ID],
  streams: true,
  framing: "chunked",
};
const converse = (usage: object, more: object = {}) => ({
  metrics: { latencyMs: 900 },
  output: { message: { content: [{ text: "Water." }], role: "assistant" } },
  stopReason: "end_turn",
  usage,
  ...more,
});
const event = (type: string, payload: object) =>
  eventStreamMessage(
    { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
    { ...payload, p: "abcdefgh" },
  );
const exception = (type: string, message: string) =>
  eventStreamMessage(
    { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" },
    { message },
  );

b.add(
  "converse",
  "inputTokens leaves cache reads and writes out; the total is the sum of all four.",
  json(
    converse({
      inputTokens: 30,
      outputTokens: 12,
      cacheReadInputTokens: 2000,
      cacheWriteInputTokens: 500,
      totalTokens: 2542,
    }),
    awsJson,
  ),
  {
    tokens: { prompt: 30, cache_read: 2000, cache_write: 500, completion: 12 },
    cost: RATES.bedrockHaikuRegional,
  },
);
b.add(
  "converse-global-profile",
  "The global profile of the same model is cheaper: the prefix decides.",
  json(converse({ inputTokens: 30, outputTokens: 12, totalTokens: 42 }), awsJson),
  {
    model: HAIKU.replace("us.", "global."),
    requestedModel: HAIKU.replace("us.", "global."),
    tokens: { prompt: 30, cache_read: 0, cache_write: 0, completion: 12 },
    cost: RATES.bedrockHaikuGlobal,
  },
  { path: `/model/${encodeURIComponent(HAIKU.replace("us.", "global."))}/converse` },
);
b.add(
  "converse-cache-details",
  "cacheDetails splits the writes by time to live.",
  json(
    converse({
      inputTokens: 3,
      outputTokens: 4,
      cacheReadInputTokens: 0,
      cacheWriteInputTokens: 900,
      cacheDetails: [
        { inputTokens: 600, ttl: "5m" },
        { inputTokens: 300, ttl: "1h" },
      ],
      totalTokens: 907,
    }),
    awsJson,
  ),
  {
    tokens: { prompt: 3, cache_read: 0, cache_write: 900, cache_write_1h: 300, completion: 4 },
    cost: RATES.bedrockHaikuRegional,
  },
);
b.add(
  "converse-split-without-total",
  "Found by the fuzzer: cacheDetails without the total that it splits. A part of nothing stated is not stated.",
  json(converse({ cacheDetails: [{ inputTokens: 3, ttl: "1h" }] }), awsJson),
  {},
);
b.add(
  "converse-nova-tier",
  "The service tier that served the call.",
  json(
    converse({ inputTokens: 100, outputTokens: 20, totalTokens: 120 }, { serviceTier: { type: "default" } }),
    awsJson,
  ),
  {
    model: "amazon.nova-lite-v1:0",
    requestedModel: "amazon.nova-lite-v1:0",
    tier: "default",
    tokens: { prompt: 100, cache_read: 0, cache_write: 0, completion: 20 },
    cost: RATES.novaLite,
  },
  { path: "/model/amazon.nova-lite-v1%3A0/converse" },
);

b.add(
  "converse-nova-flex",
  "The flex tier costs half.",
  json(
    converse({ inputTokens: 100, outputTokens: 20, totalTokens: 120 }, { serviceTier: { type: "flex" } }),
    awsJson,
  ),
  {
    model: "amazon.nova-2-lite-v1:0",
    requestedModel: "amazon.nova-2-lite-v1:0",
    tier: "flex",
    tokens: { prompt: 100, cache_read: 0, cache_write: 0, completion: 20 },
    cost: RATES.nova2LiteFlex,
  },
  { path: "/model/amazon.nova-2-lite-v1%3A0/converse", source: DOCUMENTS.bedrockTiers },
);

const streamed = raw(
  [
    event("messageStart", { role: "assistant" }),
    event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: 'Water. "usage":{"inputTokens":1}' } }),
    event("contentBlockStop", { contentBlockIndex: 0 }),
    event("messageStop", { stopReason: "end_turn" }),
    event("metadata", {
      metrics: { latencyMs: 700 },
      usage: {
        inputTokens: 25,
        outputTokens: 14,
        totalTokens: 39,
        cacheReadInputTokens: 0,
        cacheWriteInputTokens: 0,
      },
    }),
  ],
  awsStream,
);
const streamOptions = {
  path: `/model/${encodeURIComponent(HAIKU)}/converse-stream`,
  source: DOCUMENTS.bedrockConverseStream,
};
b.add(
  "converse-stream",
  "Binary messages; the last one, metadata, has the usage.",
  streamed,
  {
    streaming: true,
    tokens: { prompt: 25, cache_read: 0, cache_write: 0, completion: 14 },
    cost: RATES.bedrockHaikuRegional,
  },
  streamOptions,
);
b.add(
  "converse-stream-cut",
  "Cut inside the metadata message: nothing was stated.",
  { ...streamed, cutAt: bytesOf(streamed, 5) - 9 },
  { streaming: true, id: REQUEST_ID[1], error: ["network", true, null] },
  streamOptions,
);
b.add(
  "converse-stream-exception",
  "An exception as a message of a stream that began with a 200.",
  raw(
    [
      event("messageStart", { role: "assistant" }),
      exception("throttlingException", "Too many tokens, please wait before trying again."),
    ],
    awsStream,
  ),
  { streaming: true, id: REQUEST_ID[1], error: ["rate_limit", true, "throttlingException"] },
  streamOptions,
);
b.add(
  "converse-stream-model-error",
  "The model's own failure in a stream.",
  raw(
    [
      event("messageStart", { role: "assistant" }),
      exception("modelStreamErrorException", "The model produced an error."),
    ],
    awsStream,
  ),
  { streaming: true, id: REQUEST_ID[1], error: ["server_error", true, "modelStreamErrorException"] },
  streamOptions,
);
b.add(
  "invoke-claude",
  "The model's own body.",
  json(
    {
      id: "msg_bdrk_Conformance0001",
      type: "message",
      role: "assistant",
      model: "claude-haiku-4-5-20251001",
      content: [],
      usage: {
        input_tokens: 40,
        cache_creation_input_tokens: 10,
        cache_read_input_tokens: 20,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 0 },
        output_tokens: 8,
      },
    },
    {
      headers: [
        ["Content-Type", "application/json"],
        REQUEST_ID,
        ["X-Amzn-Bedrock-Input-Token-Count", "40"],
        ["X-Amzn-Bedrock-Output-Token-Count", "8"],
      ],
    },
  ),
  {
    id: "msg_bdrk_Conformance0001",
    tokens: { prompt: 40, cache_read: 20, cache_write: 10, cache_write_1h: 0, completion: 8 },
    cost: RATES.bedrockHaikuRegional,
  },
  { source: DOCUMENTS.bedrockInvoke, path: `/model/${encodeURIComponent(HAIKU)}/invoke` },
);
b.add(
  "invoke-llama",
  "A model whose body has counts of its own kind: Bedrock's headers state what it counted.",
  json(
    { generation: "Water.", prompt_token_count: 17, generation_token_count: 5, stop_reason: "stop" },
    {
      headers: [
        ["Content-Type", "application/json"],
        REQUEST_ID,
        ["X-Amzn-Bedrock-Input-Token-Count", "17"],
        ["X-Amzn-Bedrock-Output-Token-Count", "5"],
      ],
    },
  ),
  {
    model: "meta.llama3-3-70b-instruct-v1:0",
    requestedModel: "meta.llama3-3-70b-instruct-v1:0",
    tokens: { prompt: 17, completion: 5 },
    cost: RATES.bedrockLlama33,
  },
  { source: DOCUMENTS.bedrockInvoke, path: "/model/meta.llama3-3-70b-instruct-v1:0/invoke" },
);
const chunk = (native: object) =>
  eventStreamMessage(
    { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" },
    { bytes: Buffer.from(JSON.stringify(native)).toString("base64"), p: "abc" },
  );
b.add(
  "invoke-stream-claude",
  "Chunks hold the model's own events in Base64; the last one has Bedrock's own counts as well.",
  raw(
    [
      chunk({
        type: "message_start",
        message: {
          id: "msg_bdrk_Conformance0002",
          model: "claude-haiku-4-5-20251001",
          usage: {
            input_tokens: 22,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 6,
            output_tokens: 1,
          },
        },
      }),
      chunk({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Water." } }),
      chunk({
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 33 },
      }),
      chunk({
        type: "message_stop",
        "amazon-bedrock-invocationMetrics": {
          inputTokenCount: 22,
          outputTokenCount: 33,
          invocationLatency: 800,
          firstByteLatency: 300,
          cacheReadInputTokenCount: 6,
          cacheWriteInputTokenCount: 0,
        },
      }),
    ],
    awsStream,
  ),
  {
    streaming: true,
    id: "msg_bdrk_Conformance0002",
    tokens: { prompt: 22, cache_read: 6, cache_write: 0, cache_write_1h: 0, completion: 33 },
    cost: RATES.bedrockHaikuRegional,
  },
  {
    source: DOCUMENTS.bedrockInvoke,
    path: `/model/${encodeURIComponent(HAIKU)}/invoke-with-response-stream`,
  },
);
b.add(
  "invoke-stream-llama",
  "A stream whose only counts are Bedrock's, in its last chunk.",
  raw(
    [
      chunk({ generation: "Water.", prompt_token_count: 17, generation_token_count: 1, stop_reason: null }),
      chunk({
        generation: "",
        prompt_token_count: null,
        generation_token_count: 5,
        stop_reason: "stop",
        "amazon-bedrock-invocationMetrics": {
          inputTokenCount: 17,
          outputTokenCount: 5,
          invocationLatency: 700,
          firstByteLatency: 200,
        },
      }),
    ],
    awsStream,
  ),
  {
    streaming: true,
    model: "meta.llama3-3-70b-instruct-v1:0",
    requestedModel: "meta.llama3-3-70b-instruct-v1:0",
    tokens: { prompt: 17, completion: 5 },
    cost: RATES.bedrockLlama33,
  },
  {
    source: DOCUMENTS.bedrockInvoke,
    path: "/model/meta.llama3-3-70b-instruct-v1:0/invoke-with-response-stream",
  },
);
for (const [name, status, type, error] of [
  ["error-validation", 400, "ValidationException", ["bad_request", false, "ValidationException"]],
  ["error-access-denied", 403, "AccessDeniedException", ["auth", false, "AccessDeniedException"]],
  ["error-not-found", 404, "ResourceNotFoundException", ["bad_request", false, "ResourceNotFoundException"]],
  ["error-model-timeout", 408, "ModelTimeoutException", ["timeout", true, "ModelTimeoutException"]],
  ["error-model-error", 424, "ModelErrorException", ["server_error", true, "ModelErrorException"]],
  ["error-throttling", 429, "ThrottlingException", ["rate_limit", true, "ThrottlingException"]],
  ["error-model-not-ready", 429, "ModelNotReadyException", ["rate_limit", true, "ModelNotReadyException"]],
  ["error-internal", 500, "InternalServerException", ["server_error", true, "InternalServerException"]],
  [
    "error-unavailable",
    503,
    "ServiceUnavailableException",
    ["server_error", true, "ServiceUnavailableException"],
  ],
] as const)
  b.add(
    name,
    `Bedrock's ${status}, named in a header.`,
    json(
      { message: "No." },
      {
        status,
        headers: [
          ["Content-Type", "application/json"],
          REQUEST_ID,
          ["x-amzn-ErrorType", `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`],
        ],
      },
    ),
    { id: REQUEST_ID[1], error },
  );

const az = defineApi({
  folder: "azure",
  provider: "azure",
  host: "contoso.openai.azure.com",
  path: "/openai/deployments/prod-chat/chat/completions?api-version=2025-04-01-preview",
  pathModel: "prod-chat",
  request: { messages },
  source: DOCUMENTS.azure,
  id: "chatcmpl-Azure00000000001",
});
export const azure = az.cases;
const azureChat = (model: string) => ({
  id: "chatcmpl-Azure00000000001",
  object: "chat.completion",
  model,
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Water." },
      finish_reason: "stop",
      content_filter_results: {},
    },
  ],
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
  usage: {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 64 },
  },
});
const azureTokens = { prompt: 36, cache_read: 64, completion: 20 };
az.add(
  "model-in-answer",
  "The answer names the model behind the deployment.",
  json(azureChat("gpt-4o-2024-08-06")),
  {
    model: "gpt-4o-2024-08-06",
    tokens: azureTokens,
    cost: RATES.gpt4o,
  },
);
az.add(
  "deployment-map",
  "The answer repeats the deployment's name: the operator's map says which model that is.",
  json(azureChat("prod-chat")),
  { model: "gpt-4.1", tokens: azureTokens, cost: RATES.gpt41 },
  { configuration: { deployments: { "prod-chat": "gpt-4.1" } } },
);
az.add(
  "deployment-unknown",
  "Without a map the name of a deployment is no model: counts without a cost.",
  json(azureChat("prod-chat")),
  { model: "prod-chat", tokens: azureTokens },
);
az.add(
  "stream-empty-first-chunk",
  "The first chunk has the filter's results and neither model nor choices.",
  sse([
    {
      id: "",
      object: "",
      created: 0,
      model: "",
      choices: [],
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
    },
    {
      id: "chatcmpl-Azure00000000001",
      object: "chat.completion.chunk",
      model: "gpt-4o-2024-08-06",
      choices: [{ index: 0, delta: { content: "Water." } }],
      usage: null,
    },
    {
      id: "chatcmpl-Azure00000000001",
      object: "chat.completion.chunk",
      model: "gpt-4o-2024-08-06",
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    },
    "[DONE]",
  ]),
  { model: "gpt-4o-2024-08-06", tokens: { prompt: 9, completion: 3 }, cost: RATES.gpt4o },
  { request: { stream: true, stream_options: { include_usage: true } } },
);
az.add(
  "claude",
  "Claude on Azure, in Anthropic's shape.",
  json({
    id: "msg_Azure00000000000001",
    type: "message",
    role: "assistant",
    model: "claude-haiku-4-5",
    content: [],
    stop_reason: "end_turn",
    usage: { input_tokens: 12, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 6 },
  }),
  {
    model: "claude-haiku-4-5",
    id: "msg_Azure00000000000001",
    tokens: { prompt: 12, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 6 },
    cost: RATES.haiku45,
  },
  {
    host: "contoso.services.ai.azure.com",
    path: "/anthropic/v1/messages",
    request: { model: "claude-haiku-4-5", max_tokens: 10 },
    source: DOCUMENTS.anthropicUsage,
  },
);
az.add(
  "responses-v1",
  "The v1 API, where the request names the deployment.",
  json({
    id: "resp_Azure000000000000001",
    object: "response",
    status: "completed",
    model: "gpt-4o",
    output: [],
    usage: { input_tokens: 10, output_tokens: 4, total_tokens: 14 },
  }),
  {
    model: "gpt-4o",
    id: "resp_Azure000000000000001",
    tokens: { prompt: 10, completion: 4 },
    cost: RATES.gpt4o,
  },
  {
    path: "/openai/v1/responses",
    request: { messages: undefined, model: "gpt-4o", input: "rain" },
    source: DOCUMENTS.openaiResponses,
  },
);
for (const [name, about, status, code, message, error] of [
  [
    "error-content-filter",
    "A prompt that the filter refuses.",
    400,
    "content_filter",
    "The response was filtered.",
    ["bad_request", false, "content_filter"],
  ],
  [
    "error-deployment-not-found",
    "A deployment that is not there.",
    404,
    "DeploymentNotFound",
    "The API deployment for this resource does not exist.",
    ["bad_request", false, "DeploymentNotFound"],
  ],
  [
    "error-rate-limit",
    "The code of a rate limit is the status as text.",
    429,
    "429",
    "Requests have exceeded the token rate limit of your pricing tier. Please retry after 12 seconds.",
    ["rate_limit", true, "429"],
  ],
  [
    "error-system-demand",
    "The system's own load, as a rate limit.",
    429,
    "NoCapacity",
    "The system is currently experiencing high demand and cannot process your request.",
    ["rate_limit", true, "NoCapacity"],
  ],
  [
    "error-invalid-key",
    "A wrong key.",
    401,
    "401",
    "Access denied due to invalid subscription key or wrong API endpoint.",
    ["auth", false, "401"],
  ],
] as const)
  az.add(name, about, json({ error: { code, message } }, { status }), { error });
