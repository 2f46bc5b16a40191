import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { bytesOf, json, raw, sse } from "./wire.ts";

const ID = "chatcmpl-Conformance1";

const api = defineApi({
  folder: "openai-chat",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/chat/completions",
  request: { model: "gpt-4o", messages: [{ role: "user", content: "Why is rain wet?" }] },
  source: DOCUMENTS.openaiChat,
  id: ID,
});
export const openaiChat = api.cases;

const completion = (model: string, usage: unknown, more: object = {}) => ({
  id: ID,
  object: "chat.completion",
  created: 1795262400,
  model,
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Water.", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage,
  service_tier: "default",
  system_fingerprint: "fp_1",
  ...more,
});
const chunkOf = (model: string, choices: unknown, more: object = {}) => ({
  id: ID,
  object: "chat.completion.chunk",
  created: 1795262400,
  model,
  service_tier: "default",
  system_fingerprint: "fp_1",
  choices,
  ...more,
});
const piece = (text: string) => [{ index: 0, delta: { content: text }, logprobs: null, finish_reason: null }];
const finish = [{ index: 0, delta: {}, logprobs: null, finish_reason: "stop" }];
const GPT4O = "gpt-4o-2024-08-06";
const details = (prompt: object, output: object) => ({
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0, ...prompt },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
    ...output,
  },
});
const answered = { model: GPT4O, tier: "default" };
const streamed = { request: { stream: true, stream_options: { include_usage: true } } };

api.add(
  "json",
  "prompt_tokens includes the cached tokens, which are taken out of it.",
  json(
    completion(GPT4O, {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      ...details({ cached_tokens: 1920 }, {}),
    }),
  ),
  { ...answered, tokens: { prompt: 86, cache_read: 1920, completion: 300, thinking: 0 }, cost: RATES.gpt4o },
);

api.add(
  "json-without-details",
  "Totals alone: nothing is known of a cache or of reasoning, and nothing is missing for the price.",
  json(completion(GPT4O, { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 })),
  { ...answered, tokens: { prompt: 12, completion: 7 }, cost: RATES.gpt4o },
);

api.add(
  "json-reasoning",
  "completion_tokens includes the reasoning: 448 of 510 are thought.",
  json(
    completion("gpt-5-mini-2025-08-07", {
      prompt_tokens: 20,
      completion_tokens: 510,
      total_tokens: 530,
      ...details({}, { reasoning_tokens: 448 }),
    }),
  ),
  {
    model: "gpt-5-mini-2025-08-07",
    tier: "default",
    tokens: { prompt: 20, cache_read: 0, completion: 62, thinking: 448 },
    cost: RATES.gpt5Mini,
  },
  { request: { model: "gpt-5-mini" } },
);

api.add(
  "json-cache-write",
  "Newer models state cache writes, a part of prompt_tokens with a price of its own.",
  json(
    completion("gpt-6-sol", {
      prompt_tokens: 5000,
      completion_tokens: 100,
      total_tokens: 5100,
      ...details({ cached_tokens: 1000, cache_write_tokens: 3000 }, {}),
    }),
  ),
  {
    model: "gpt-6-sol",
    tier: "default",
    tokens: { prompt: 1000, cache_read: 1000, cache_write: 3000, completion: 100, thinking: 0 },
    cost: RATES.gpt6Sol,
  },
  { request: { model: "gpt-6-sol" } },
);

api.add(
  "json-audio",
  "Audio tokens are parts of both totals and cost more than text.",
  json(
    completion("gpt-audio-2025-08-28", {
      prompt_tokens: 150,
      completion_tokens: 320,
      total_tokens: 470,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 90, text_tokens: 60, image_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 260, text_tokens: 60 },
    }),
  ),
  {
    model: "gpt-audio-2025-08-28",
    tier: "default",
    tokens: { prompt: 150, cache_read: 0, completion: 320, thinking: 0 },
    extras: { audio_input_tokens: 90, audio_output_tokens: 260 },
    cost: [
      ["audio input", 90, "32"],
      ["input", 60, "2.5"],
      ["audio output", 260, "64"],
      ["output", 60, "10"],
    ],
  },
  { request: { model: "gpt-audio", modalities: ["text", "audio"] } },
);

api.add(
  "json-predicted-output",
  "Rejected prediction tokens are in completion_tokens already, and billed there once.",
  json(
    completion(GPT4O, {
      prompt_tokens: 40,
      completion_tokens: 100,
      total_tokens: 140,
      ...details({}, { accepted_prediction_tokens: 30, rejected_prediction_tokens: 45 }),
    }),
  ),
  { ...answered, tokens: { prompt: 40, cache_read: 0, completion: 100, thinking: 0 }, cost: RATES.gpt4o },
);

api.add(
  "json-flex",
  "Flex costs half; the tier is the one that the answer names.",
  json(
    completion(
      "gpt-5-mini-2025-08-07",
      {
        prompt_tokens: 1000,
        completion_tokens: 50,
        total_tokens: 1050,
        ...details({ cached_tokens: 512 }, {}),
      },
      { service_tier: "flex" },
    ),
  ),
  {
    model: "gpt-5-mini-2025-08-07",
    tier: "flex",
    tokens: { prompt: 488, cache_read: 512, completion: 50, thinking: 0 },
    cost: RATES.gpt5MiniFlex,
  },
  { request: { model: "gpt-5-mini", service_tier: "flex" } },
);

api.add(
  "json-priority",
  "Priority has a price list of its own.",
  json(
    completion(
      "gpt-4.1-2025-04-14",
      {
        prompt_tokens: 1000,
        completion_tokens: 50,
        total_tokens: 1050,
        ...details({ cached_tokens: 200 }, {}),
      },
      { service_tier: "priority" },
    ),
  ),
  {
    model: "gpt-4.1-2025-04-14",
    tier: "priority",
    tokens: { prompt: 800, cache_read: 200, completion: 50, thinking: 0 },
    cost: RATES.gpt41Priority,
  },
  { request: { model: "gpt-4.1", service_tier: "priority" } },
);

api.add(
  "json-priority-asked-default-served",
  "Priority was asked for and not given: the answer's tier decides.",
  json(completion("gpt-4.1-2025-04-14", { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })),
  { model: "gpt-4.1-2025-04-14", tier: "default", tokens: { prompt: 10, completion: 5 }, cost: RATES.gpt41 },
  { request: { model: "gpt-4.1", service_tier: "priority" } },
);

api.add(
  "json-long-context",
  "Above 272,000 tokens of input the whole request costs more, the cached ones among them.",
  json(
    completion("gpt-5.4-2026-03-05", {
      prompt_tokens: 272001,
      completion_tokens: 1000,
      total_tokens: 273001,
      ...details({ cached_tokens: 200000 }, {}),
    }),
  ),
  {
    model: "gpt-5.4-2026-03-05",
    tier: "default",
    tokens: { prompt: 72001, cache_read: 200000, completion: 1000, thinking: 0 },
    cost: RATES.gpt54Long,
  },
  { request: { model: "gpt-5.4" }, source: DOCUMENTS.openaiLongContext },
);

api.add(
  "json-below-long-context",
  "At exactly 272,000 tokens, the base price: the higher one is for prompts of more than that.",
  json(
    completion("gpt-5.4-2026-03-05", {
      prompt_tokens: 272000,
      completion_tokens: 1000,
      total_tokens: 273000,
      ...details({ cached_tokens: 200000 }, {}),
    }),
  ),
  {
    model: "gpt-5.4-2026-03-05",
    tier: "default",
    tokens: { prompt: 72000, cache_read: 200000, completion: 1000, thinking: 0 },
    cost: RATES.gpt54,
  },
  { request: { model: "gpt-5.4" }, source: DOCUMENTS.openaiLongContext },
);

api.add(
  "json-cached-exceeds-prompt",
  "More cached tokens than prompt tokens contradict each other: the total is kept, the record is not complete.",
  json(
    completion(GPT4O, {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      ...details({ cached_tokens: 40 }, {}),
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 0, cache_read: 10, completion: 5, thinking: 0 },
    complete: false,
    cost: RATES.gpt4o,
  },
);

api.add(
  "json-numbers-that-are-none",
  "Counts that are text, negative or no whole number are not stated.",
  json(completion(GPT4O, { prompt_tokens: "12", completion_tokens: -4, total_tokens: 1.5 })),
  { ...answered, tokens: {}, complete: false },
);

api.add(
  "json-usage-null",
  "usage: null says nothing, and nothing is not 0.",
  json(completion(GPT4O, null)),
  answered,
);

api.add("json-empty-object", "A proxy that answers with an empty object.", json({}), {
  model: "gpt-4o",
  id: null,
});

api.add(
  "json-several-choices",
  "Several choices: the usage is of all of them, once.",
  json(
    completion(
      GPT4O,
      { prompt_tokens: 9, completion_tokens: 36, total_tokens: 45 },
      {
        choices: [0, 1, 2].map((index) => ({
          index,
          message: { role: "assistant", content: "Wet." },
          finish_reason: "stop",
        })),
      },
    ),
  ),
  { ...answered, tokens: { prompt: 9, completion: 36 }, cost: RATES.gpt4o },
  { request: { n: 3 } },
);

api.add(
  "json-unusual-spacing",
  "Blanks and line breaks in a body whose usage comes first, with a number written with an exponent of zero digits lost.",
  json(
    `\n {"usage" :{ "prompt_tokens":\n 1200,"completion_tokens" :8e1 ,"total_tokens":1280.0},\n"id":"${ID}","model":\n"${GPT4O}","service_tier":"default"}`,
  ),
  { ...answered, tokens: { prompt: 1200, completion: 80 }, cost: RATES.gpt4o },
);

api.add(
  "json-usage-twice",
  "A member given twice counts as last given, as JSON parsers read it.",
  json(
    `{"id":"${ID}","model":"${GPT4O}","service_tier":"default","usage":{"prompt_tokens":1,"completion_tokens":1},"usage":{"prompt_tokens":70,"completion_tokens":3}}`,
  ),
  { ...answered, tokens: { prompt: 70, completion: 3 }, cost: RATES.gpt4o },
);

const withUsage = sse([
  chunkOf(GPT4O, piece(""), { usage: null }),
  chunkOf(GPT4O, piece("Wa"), { usage: null }),
  chunkOf(GPT4O, piece("ter."), { usage: null }),
  chunkOf(GPT4O, finish, { usage: null }),
  chunkOf(GPT4O, [], {
    usage: {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      ...details({ cached_tokens: 1920 }, {}),
    },
  }),
  "[DONE]",
]);

api.add(
  "stream-include-usage",
  "With include_usage the last chunk has empty choices and the usage; the chunks before it have null.",
  withUsage,
  { ...answered, tokens: { prompt: 86, cache_read: 1920, completion: 300, thinking: 0 }, cost: RATES.gpt4o },
  { ...streamed, source: DOCUMENTS.openaiChatChunk },
);

api.add(
  "stream-without-usage",
  "Without include_usage a stream states nothing: null, not 0.",
  sse([chunkOf(GPT4O, piece("Wa")), chunkOf(GPT4O, piece("ter.")), chunkOf(GPT4O, finish), "[DONE]"]),
  answered,
  { request: { stream: true }, source: DOCUMENTS.openaiChatChunk },
);

api.add(
  "stream-cut-before-usage",
  "A stream cut before its last chunk has no usage.",
  { ...withUsage, cutAt: bytesOf(withUsage, 4) + 20 },
  { ...answered, error: ["network", true, null], id: ID },
  { ...streamed, source: DOCUMENTS.openaiChatChunk },
);

api.add(
  "stream-cut-inside-usage",
  "A stream cut inside the usage's own digits has none: a number that lacks its end is no number.",
  { ...withUsage, cutAt: bytesOf(withUsage, 4) + JSON.stringify(chunkOf(GPT4O, [])).length + 40 },
  { ...answered, error: ["network", true, null], id: ID },
  { ...streamed, source: DOCUMENTS.openaiChatChunk },
);

api.add(
  "stream-cut-after-usage",
  "A stream cut after the usage, before [DONE]: the usage is whole.",
  { ...withUsage, cutAt: bytesOf(withUsage, 5) },
  {
    ...answered,
    tokens: { prompt: 86, cache_read: 1920, completion: 300, thinking: 0 },
    cost: RATES.gpt4o,
    error: ["network", true, null],
    id: ID,
  },
  { ...streamed, source: DOCUMENTS.openaiChatChunk },
);

api.add(
  "stream-obfuscation-and-tool-calls",
  "Padding members and pieces of a tool's arguments that spell out a usage object.",
  sse([
    chunkOf(
      GPT4O,
      [
        {
          index: 0,
          delta: { tool_calls: [{ index: 0, function: { arguments: '{"usage": {"prompt_tokens": 9' } }] },
          finish_reason: null,
        },
      ],
      { usage: null, obfuscation: "x9Qk" },
    ),
    chunkOf(GPT4O, [{ index: 0, delta: {}, finish_reason: "tool_calls" }], { usage: null, obfuscation: "" }),
    chunkOf(GPT4O, [], {
      usage: { prompt_tokens: 44, completion_tokens: 18, total_tokens: 62 },
      obfuscation: "aa",
    }),
    "[DONE]",
  ]),
  { ...answered, tokens: { prompt: 44, completion: 18 }, cost: RATES.gpt4o },
  { ...streamed, source: DOCUMENTS.openaiChatChunk },
);

api.add(
  "stream-error-chunk",
  "An error inside a stream that began with 200.",
  sse([
    chunkOf(GPT4O, piece("Wa"), { usage: null }),
    {
      error: {
        message: "The server had an error while processing your request.",
        type: "server_error",
        param: null,
        code: null,
      },
    },
  ]),
  { ...answered, error: ["server_error", true, "server_error"], id: ID },
  { ...streamed, source: DOCUMENTS.openaiErrors },
);

api.add(
  "completions",
  "The older text completions have the same usage.",
  json({
    id: "cmpl-1",
    object: "text_completion",
    created: 1,
    model: "gpt-3.5-turbo-instruct:20230824-v2",
    choices: [{ text: " wet", index: 0, logprobs: null, finish_reason: "length" }],
    usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
  }),
  {
    model: "gpt-3.5-turbo-instruct:20230824-v2",
    id: "cmpl-1",
    tokens: { prompt: 5, completion: 7 },
    cost: RATES.gpt35Instruct,
  },
  {
    path: "/v1/completions",
    request: { model: "gpt-3.5-turbo-instruct", prompt: "Rain is", messages: undefined },
  },
);

api.add(
  "gateway-keep-alives",
  "Blank lines before a JSON body, which gateways send to keep a slow connection open.",
  raw(
    [
      "\n",
      "\n\n",
      `  ${JSON.stringify(completion(GPT4O, { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }))}`,
    ],
    { framing: "chunked" },
  ),
  { ...answered, tokens: { prompt: 3, completion: 4 }, cost: RATES.gpt4o },
);

api.add(
  "models-list-is-free",
  "Listing models is not billed.",
  json({ object: "list", data: [{ id: "gpt-4o", object: "model" }] }),
  null,
  { method: "GET", path: "/v1/models" },
);

const failure = (type: string | null, code: string | null, message: string) => ({
  error: { message, type, param: null, code },
});
const errors: readonly (readonly [
  string,
  string,
  number,
  unknown,
  readonly [string, boolean, string | null],
])[] = [
  [
    "error-invalid-request",
    "A request that is wrong.",
    400,
    failure("invalid_request_error", "unsupported_value", "Unsupported value"),
    ["bad_request", false, "unsupported_value"],
  ],
  [
    "error-context-length",
    "A prompt that is too long.",
    400,
    failure(
      "invalid_request_error",
      "context_length_exceeded",
      "This model's maximum context length is 128000 tokens.",
    ),
    ["bad_request", false, "context_length_exceeded"],
  ],
  [
    "error-invalid-key",
    "A wrong key.",
    401,
    failure("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    ["auth", false, "invalid_api_key"],
  ],
  [
    "error-region",
    "A country that is not served.",
    403,
    failure(
      "request_forbidden",
      "unsupported_country_region_territory",
      "Country, region, or territory not supported",
    ),
    ["auth", false, "unsupported_country_region_territory"],
  ],
  [
    "error-model-not-found",
    "A model that is not there.",
    404,
    failure("invalid_request_error", "model_not_found", "The model does not exist"),
    ["bad_request", false, "model_not_found"],
  ],
  [
    "error-rate-limit",
    "A rate limit passes.",
    429,
    failure("tokens", "rate_limit_exceeded", "Rate limit reached for gpt-4o"),
    ["rate_limit", true, "rate_limit_exceeded"],
  ],
  [
    "error-insufficient-quota",
    "No quota left: billing, by type and by code.",
    429,
    failure(
      "insufficient_quota",
      "insufficient_quota",
      "You exceeded your current quota, please check your plan and billing details.",
    ),
    ["auth", false, "insufficient_quota"],
  ],
  [
    "error-credit-exhausted",
    "The type stays insufficient_quota while the code varies.",
    429,
    failure("insufficient_quota", "credit_balance_exhausted", "Your credit balance is exhausted."),
    ["auth", false, "credit_balance_exhausted"],
  ],
  [
    "error-organization-spend-limit",
    "The organisation's spend limit.",
    429,
    failure("insufficient_quota", "organization_spend_limit_exceeded", "Spend limit exceeded."),
    ["auth", false, "organization_spend_limit_exceeded"],
  ],
  [
    "error-project-spend-limit",
    "The project's spend limit, known by its type where the code is new.",
    429,
    failure("insufficient_quota", "project_limit_of_some_new_kind", "Spend limit exceeded."),
    ["auth", false, "project_limit_of_some_new_kind"],
  ],
  [
    "error-slow-down",
    "Told to slow down.",
    429,
    failure("requests", "slow_down", "Slow down"),
    ["rate_limit", true, "slow_down"],
  ],
  [
    "error-server",
    "The provider's own fault.",
    500,
    failure("server_error", null, "The server had an error"),
    ["server_error", true, "server_error"],
  ],
  [
    "error-overloaded",
    "Overloaded.",
    503,
    failure("service_unavailable", "server_is_overloaded", "The engine is currently overloaded"),
    ["server_error", true, "server_is_overloaded"],
  ],
  [
    "error-slow-down-503",
    "slow_down with a 503 is the server's load, not the caller's rate.",
    503,
    failure("service_unavailable_error", "slow_down", "Slow down"),
    ["server_error", true, "slow_down"],
  ],
];
for (const [name, about, status, body, error] of errors)
  api.add(
    name,
    about,
    json(body, { status }),
    { model: "gpt-4o", error },
    { source: DOCUMENTS.openaiErrors },
  );
