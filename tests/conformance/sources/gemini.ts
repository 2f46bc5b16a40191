import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { bytesOf, json, raw, sse } from "./wire.ts";

const ID = "Conformance-1";
const MODEL = "gemini-2.5-flash";

const api = defineApi({
  folder: "gemini-generate",
  provider: "gemini",
  host: "generativelanguage.googleapis.com",
  path: `/v1beta/models/${MODEL}:generateContent`,
  pathModel: MODEL,
  request: { contents: [{ role: "user", parts: [{ text: "Why is rain wet?" }] }] },
  source: DOCUMENTS.geminiUsage,
  id: ID,
});
export const geminiGenerate = api.cases;

const answer = (usageMetadata: unknown, more: object = {}) => ({
  candidates: [{ content: { parts: [{ text: "Water." }], role: "model" }, finishReason: "STOP", index: 0 }],
  usageMetadata,
  modelVersion: MODEL,
  responseId: ID,
  ...more,
});
const text = (tokenCount: number) => [{ modality: "TEXT", tokenCount }];
const base = {
  promptTokenCount: 8,
  candidatesTokenCount: 40,
  totalTokenCount: 48,
  promptTokensDetails: text(8),
};
const plain = { prompt: 8, cache_read: 0, completion: 40, thinking: 0 };

api.add("json", "Prompt and candidates; counts of zero are left out on the wire.", json(answer(base)), {
  tokens: plain,
  cost: RATES.gemini25Flash,
});

api.add(
  "json-thoughts",
  "thoughtsTokenCount is not in candidatesTokenCount: both are billed as output.",
  json(
    answer({ promptTokenCount: 10, candidatesTokenCount: 50, thoughtsTokenCount: 700, totalTokenCount: 760 }),
  ),
  { tokens: { prompt: 10, cache_read: 0, completion: 50, thinking: 700 }, cost: RATES.gemini25Flash },
);

api.add(
  "json-thoughts-only",
  "All output was thought: candidatesTokenCount is absent and 0.",
  json(
    answer(
      { promptTokenCount: 10, thoughtsTokenCount: 500, totalTokenCount: 510 },
      { candidates: [{ finishReason: "MAX_TOKENS", index: 0 }] },
    ),
  ),
  { tokens: { prompt: 10, cache_read: 0, completion: 0, thinking: 500 }, cost: RATES.gemini25Flash },
);

api.add(
  "json-cached",
  "promptTokenCount includes the cached content.",
  json(
    answer({
      promptTokenCount: 4100,
      cachedContentTokenCount: 4000,
      candidatesTokenCount: 30,
      totalTokenCount: 4130,
    }),
  ),
  { tokens: { prompt: 100, cache_read: 4000, completion: 30, thinking: 0 }, cost: RATES.gemini25Flash },
);

api.add(
  "json-tool-use",
  "toolUsePromptTokenCount comes on top of promptTokenCount.",
  json(
    answer({
      promptTokenCount: 20,
      toolUsePromptTokenCount: 1500,
      candidatesTokenCount: 60,
      thoughtsTokenCount: 40,
      totalTokenCount: 1620,
    }),
  ),
  { tokens: { prompt: 1520, cache_read: 0, completion: 60, thinking: 40 }, cost: RATES.gemini25Flash },
);

api.add(
  "json-audio",
  "Audio in the prompt costs more than text; of 100 cached tokens 60 were audio.",
  json(
    answer({
      promptTokenCount: 1000,
      cachedContentTokenCount: 100,
      candidatesTokenCount: 20,
      totalTokenCount: 1020,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 240 },
        { modality: "AUDIO", tokenCount: 760 },
      ],
      cacheTokensDetails: [
        { modality: "TEXT", tokenCount: 40 },
        { modality: "AUDIO", tokenCount: 60 },
      ],
      candidatesTokensDetails: text(20),
    }),
  ),
  {
    tokens: { prompt: 900, cache_read: 100, completion: 20, thinking: 0 },
    extras: { audio_input_tokens: 700, audio_cache_read_tokens: 60 },
    cost: [
      ["audio input", 700, "1"],
      ["input", 200, "0.3"],
      ["audio cache read", 60, "0.1"],
      ["cache read", 40, "0.03"],
      ["output", 20, "2.5"],
    ],
  },
);

api.add(
  "json-image-output",
  "A generated image is output at a price of its own.",
  json(
    answer(
      {
        promptTokenCount: 12,
        candidatesTokenCount: 1310,
        totalTokenCount: 1322,
        candidatesTokensDetails: [
          { modality: "TEXT", tokenCount: 20 },
          { modality: "IMAGE", tokenCount: 1290 },
        ],
      },
      { modelVersion: "gemini-2.5-flash-image" },
    ),
  ),
  {
    model: "gemini-2.5-flash-image",
    requestedModel: "gemini-2.5-flash-image",
    tokens: { prompt: 12, cache_read: 0, completion: 1310, thinking: 0 },
    extras: { image_output_tokens: 1290 },
    cost: [
      ["input", 12, "0.3"],
      ["image output", 1290, "30"],
      ["output", 20, "2.5"],
    ],
  },
  { path: "/v1beta/models/gemini-2.5-flash-image:generateContent" },
);

api.add(
  "json-long-context",
  "Above 200,000 tokens of prompt the whole request costs more.",
  json(
    answer(
      {
        promptTokenCount: 250000,
        cachedContentTokenCount: 100000,
        candidatesTokenCount: 30,
        totalTokenCount: 250030,
      },
      { modelVersion: "gemini-2.5-pro" },
    ),
  ),
  {
    model: "gemini-2.5-pro",
    requestedModel: "gemini-2.5-pro",
    tokens: { prompt: 150000, cache_read: 100000, completion: 30, thinking: 0 },
    cost: RATES.gemini25ProLong,
  },
  { path: "/v1beta/models/gemini-2.5-pro:generateContent" },
);

api.add(
  "json-flex",
  "serviceTier names the tier that was used; flex costs half.",
  json(answer({ ...base, serviceTier: "flex" })),
  { tokens: plain, tier: "flex", cost: RATES.gemini25FlashFlex },
  { source: DOCUMENTS.geminiTiers },
);

api.add(
  "json-priority",
  "Priority costs 75 to 100 % more, which is no price: unpriced.",
  json(answer({ ...base, serviceTier: "priority" })),
  { tokens: plain, tier: "priority" },
  { source: DOCUMENTS.geminiTiers },
);

api.add(
  "json-blocked-prompt",
  "A blocked prompt has no candidates; its tokens are stated and counted.",
  json({
    promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
    usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
    modelVersion: MODEL,
    responseId: ID,
  }),
  { tokens: { prompt: 9, cache_read: 0, completion: 0, thinking: 0 }, cost: RATES.gemini25Flash },
);

api.add(
  "json-prompt-count-absent",
  "promptTokenCount may be absent: it is what the total leaves.",
  json(answer({ candidatesTokenCount: 40, thoughtsTokenCount: 10, totalTokenCount: 62 })),
  { tokens: { prompt: 12, cache_read: 0, completion: 40, thinking: 10 }, cost: RATES.gemini25Flash },
);

api.add("json-usage-missing", "No usageMetadata: unknown.", json(answer(undefined)), {});

const chunks = [
  answer({ promptTokenCount: 8, totalTokenCount: 20, thoughtsTokenCount: 12 }),
  answer({ promptTokenCount: 8, candidatesTokenCount: 10, totalTokenCount: 48, thoughtsTokenCount: 30 }),
  answer({ promptTokenCount: 8, candidatesTokenCount: 40, totalTokenCount: 78, thoughtsTokenCount: 30 }),
];
const streamed = {
  tokens: { prompt: 8, cache_read: 0, completion: 40, thinking: 30 },
  cost: RATES.gemini25Flash,
  streaming: true,
};
const streamPath = `/v1beta/models/${MODEL}:streamGenerateContent`;

api.add("stream-sse", "Every event states cumulative usage: the last one wins.", sse(chunks), streamed, {
  path: `${streamPath}?alt=sse`,
});

api.add(
  "stream-sse-crlf",
  "Google ends the lines of its events with CR LF.",
  raw(
    chunks.map((part) => `data: ${JSON.stringify(part)}\r\n\r\n`),
    {
      headers: [["Content-Type", "text/event-stream"]],
      streams: true,
      framing: "chunked",
    },
  ),
  streamed,
  { path: `${streamPath}?alt=sse` },
);

const pretty = chunks.map((part, at) => `${at === 0 ? "[" : ",\r\n"}${JSON.stringify(part, null, 2)}`);
api.add(
  "stream-json-array",
  "Without alt=sse the stream is one JSON array that arrives element by element.",
  raw([...pretty, "\n]\n"], { framing: "chunked", streams: true }),
  streamed,
  { path: streamPath },
);

const array = raw([...pretty, "\n]\n"], { framing: "chunked", streams: true });
api.add(
  "stream-json-array-cut",
  "An array cut inside its last element: the element before it stands, as not complete.",
  { ...array, cutAt: bytesOf(array, 2) + 30 },
  {
    ...streamed,
    tokens: { prompt: 8, cache_read: 0, completion: 10, thinking: 30 },
    complete: false,
    id: ID,
    error: ["network", true, null],
  },
  { path: streamPath },
);

api.add(
  "stream-last-chunk-without-usage",
  "A last event without usage does not take the usage before it away.",
  sse([...chunks, { candidates: [{ finishReason: "STOP", index: 0 }], modelVersion: MODEL, responseId: ID }]),
  streamed,
  { path: `${streamPath}?alt=sse` },
);

const sseStream = sse(chunks);
api.add(
  "stream-cut",
  "Cut between two events: what was stated last stands, as not complete.",
  { ...sseStream, cutAt: bytesOf(sseStream, 2) },
  {
    ...streamed,
    tokens: { prompt: 8, cache_read: 0, completion: 10, thinking: 30 },
    complete: false,
    id: ID,
    error: ["network", true, null],
  },
  { path: `${streamPath}?alt=sse` },
);

api.add(
  "stream-error-event",
  "An error inside a stream.",
  sse([chunks[0], { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }]),
  {
    streaming: true,
    tokens: { prompt: 8, cache_read: 0, completion: 0, thinking: 12 },
    cost: RATES.gemini25Flash,
    id: ID,
    error: ["server_error", true, "UNAVAILABLE"],
  },
  { path: `${streamPath}?alt=sse`, source: DOCUMENTS.geminiErrors },
);

api.add("count-tokens-is-free", "countTokens is free.", json({ totalTokens: 8 }), null, {
  path: `/v1beta/models/${MODEL}:countTokens`,
});

const failure = (code: number, status: string, message: string, details: unknown[] = []) => ({
  error: { code, message, status, details },
});
const info = (reason: string) => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "googleapis.com",
});
const errors: readonly (readonly [string, string, number, unknown, readonly [string, boolean, string]])[] = [
  [
    "error-invalid-argument",
    "A request that is wrong.",
    400,
    failure(400, "INVALID_ARGUMENT", "Invalid JSON payload received."),
    ["bad_request", false, "INVALID_ARGUMENT"],
  ],
  [
    "error-invalid-key",
    "A wrong key comes as a 400, with a reason in its details.",
    400,
    failure(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
      info("API_KEY_INVALID"),
    ]),
    ["auth", false, "API_KEY_INVALID"],
  ],
  [
    "error-failed-precondition",
    "A region that is not served.",
    400,
    failure(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
    ["bad_request", false, "FAILED_PRECONDITION"],
  ],
  [
    "error-prepaid-empty",
    "A prepaid balance that is empty comes as a 402 with RESOURCE_EXHAUSTED.",
    402,
    failure(402, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
    ["auth", false, "RESOURCE_EXHAUSTED"],
  ],
  [
    "error-permission-denied",
    "A right that is lacking.",
    403,
    failure(403, "PERMISSION_DENIED", "Permission denied."),
    ["auth", false, "PERMISSION_DENIED"],
  ],
  [
    "error-not-found",
    "A model that is not there.",
    404,
    failure(404, "NOT_FOUND", "models/gemini-9 is not found"),
    ["bad_request", false, "NOT_FOUND"],
  ],
  [
    "error-rate-limit",
    "A quota per minute passes.",
    429,
    failure(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota. Quota exceeded for metric: generate_content_requests, limit: 10",
      [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "24s" }],
    ),
    ["rate_limit", true, "RESOURCE_EXHAUSTED"],
  ],
  [
    "error-quota-of-zero",
    "A quota of zero never passes.",
    429,
    failure(
      429,
      "RESOURCE_EXHAUSTED",
      "Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-3-pro",
    ),
    ["auth", false, "RESOURCE_EXHAUSTED"],
  ],
  [
    "error-internal",
    "The provider's own fault.",
    500,
    failure(500, "INTERNAL", "An internal error has occurred."),
    ["server_error", true, "INTERNAL"],
  ],
  [
    "error-unavailable",
    "Overloaded.",
    503,
    failure(503, "UNAVAILABLE", "The model is overloaded."),
    ["server_error", true, "UNAVAILABLE"],
  ],
  [
    "error-deadline",
    "Out of time.",
    504,
    failure(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    ["timeout", true, "DEADLINE_EXCEEDED"],
  ],
];
for (const [name, about, status, body, error] of errors)
  api.add(name, about, json(body, { status }), { error }, { source: DOCUMENTS.geminiErrors });

api.add(
  "error-in-an-array",
  "A stream that fails before it begins answers with an array of one error.",
  json(
    `[${JSON.stringify(failure(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."))}\n]`,
    { status: 429 },
  ),
  { streaming: true, error: ["rate_limit", true, "RESOURCE_EXHAUSTED"] },
  { path: streamPath, source: DOCUMENTS.geminiErrors },
);

const embed = defineApi({
  folder: "gemini-embed",
  provider: "gemini",
  host: "generativelanguage.googleapis.com",
  path: "/v1beta/models/gemini-embedding-001:embedContent",
  pathModel: "gemini-embedding-001",
  request: { content: { parts: [{ text: "rain" }] } },
  source: DOCUMENTS.geminiUsage,
  id: null,
});
export const geminiEmbed = embed.cases;

embed.add(
  "json",
  "Newer models state usageMetadata with embeddings.",
  json({ embedding: { values: [0.1, 0.2] }, usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 } }),
  { tokens: { prompt: 4, completion: 0 }, cost: RATES.geminiEmbedding },
);
embed.add(
  "json-usage-missing",
  "Older models state nothing.",
  json({ embedding: { values: [0.1, 0.2] } }),
  {},
);
embed.add(
  "batch",
  "batchEmbedContents states one usage for all.",
  json({
    embeddings: [{ values: [0.1] }, { values: [0.2] }],
    usageMetadata: { promptTokenCount: 40, totalTokenCount: 40 },
  }),
  { tokens: { prompt: 40, completion: 0 }, cost: RATES.geminiEmbedding },
  {
    path: "/v1beta/models/gemini-embedding-001:batchEmbedContents",
    request: { content: undefined, requests: [] },
  },
);

const interactions = defineApi({
  folder: "gemini-interactions",
  provider: "gemini",
  host: "generativelanguage.googleapis.com",
  path: "/v1beta/interactions",
  request: { model: MODEL, input: "Why is rain wet?" },
  source: DOCUMENTS.geminiInteractions,
  id: "v1_Interaction000000000001",
});
export const geminiInteractions = interactions.cases;

const interaction = (usage: unknown, status = "completed") => ({
  id: "v1_Interaction000000000001",
  object: "interaction",
  model: MODEL,
  status,
  steps: [],
  usage,
});
const interactionUsage = {
  total_input_tokens: 120,
  total_cached_tokens: 100,
  total_output_tokens: 30,
  total_thought_tokens: 200,
  total_tool_use_tokens: 50,
  total_tokens: 400,
  input_tokens_by_modality: [{ modality: "text", tokens: 120 }],
};
interactions.add(
  "json",
  "Cached tokens are inside the input; thoughts and the tools' prompts come on top, as total_tokens shows.",
  json(interaction(interactionUsage)),
  { tokens: { prompt: 70, cache_read: 100, completion: 30, thinking: 200 }, cost: RATES.gemini25Flash },
);
interactions.add(
  "stream",
  "A stream states usage in interaction.completed.",
  sse([
    { event_type: "interaction.created", interaction: interaction(undefined, "in_progress") },
    { event_type: "step.delta", index: 0, delta: { type: "text", text: "Water." } },
    { event_type: "interaction.completed", interaction: interaction(interactionUsage) },
  ]),
  { tokens: { prompt: 70, cache_read: 100, completion: 30, thinking: 200 }, cost: RATES.gemini25Flash },
  { request: { stream: true } },
);

const batch = defineApi({
  folder: "gemini-batch",
  provider: "gemini",
  host: "generativelanguage.googleapis.com",
  method: "GET",
  path: "/v1beta/batches/b-1",
  request: {},
  source: {
    document: "@google/genai 3.1.0, dist/genai.d.ts: BatchJob, InlinedResponse",
    read_on: "2026-11-21",
  },
});
export const geminiBatch = batch.cases;

const job = (state: string, more: object = {}) => ({
  name: "batches/b-1",
  metadata: {
    "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
    model: `models/${MODEL}`,
    state,
  },
  ...more,
});
batch.add(
  "running",
  "A batch that still runs has no results: no record.",
  json(job("BATCH_STATE_RUNNING")),
  null,
);
batch.add(
  "inlined-results",
  "Each inlined answer is a record at half the price; one that failed is none.",
  json(
    job("BATCH_STATE_SUCCEEDED", {
      done: true,
      response: {
        inlinedResponses: {
          inlinedResponses: [
            {
              response: answer(
                { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
                { responseId: "BatchAnswer0000000000001" },
              ),
            },
            { error: { code: 3, message: "No." } },
          ],
        },
      },
    }),
  ),
  {
    requestedModel: null,
    model: MODEL,
    id: "BatchAnswer0000000000001",
    tier: "batch",
    tokens: { prompt: 100, cache_read: 0, completion: 20, thinking: 0 },
    cost: RATES.gemini25FlashFlex,
  },
);
