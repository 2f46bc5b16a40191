import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { json, namedSse, sse } from "./wire.ts";

/** Hosts that imitate OpenAI's API, each with its own way of counting. */

const messages = [{ role: "user", content: "Why is rain wet?" }];
const choice = [{ index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" }];
const chat = (id: string, model: string, usage: unknown, more: object = {}) => ({
  id,
  object: "chat.completion",
  created: 1795262400,
  model,
  choices: choice,
  usage,
  ...more,
});
const chunk = (id: string, model: string, text: string, more: object = {}) => ({
  id,
  object: "chat.completion.chunk",
  created: 1795262400,
  model,
  choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
  ...more,
});
const finished = [{ index: 0, delta: { content: "" }, finish_reason: "stop" }];

const x = defineApi({
  folder: "xai",
  provider: "xai",
  host: "api.x.ai",
  path: "/v1/chat/completions",
  request: { model: "grok-4.5", messages },
  source: DOCUMENTS.xaiReasoning,
  id: "xai-1",
});
export const xai = x.cases;

x.add(
  "chat-reasoning-apart",
  "On Chat Completions completion_tokens leaves the reasoning out: output is the sum, as total_tokens shows.",
  json(
    chat("xai-1", "grok-4.5", {
      prompt_tokens: 37,
      completion_tokens: 530,
      total_tokens: 1367,
      prompt_tokens_details: { text_tokens: 37, audio_tokens: 0, image_tokens: 0, cached_tokens: 8 },
      completion_tokens_details: {
        reasoning_tokens: 800,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
      num_sources_used: 0,
    }),
  ),
  { tokens: { prompt: 29, cache_read: 8, completion: 530, thinking: 800 }, cost: RATES.grok45 },
);
x.add(
  "chat-cost-in-ticks",
  "cost_in_usd_ticks is what was billed: 10^10 ticks are one USD, tools included.",
  json(
    chat("xai-1", "grok-4.5", {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      num_sources_used: 4,
      cost_in_usd_ticks: 37756000,
    }),
  ),
  {
    tokens: { prompt: 100, completion: 50 },
    extras: { num_sources_used: 4 },
    providerCost: "3775600000",
    cost: "provider",
  },
  { source: DOCUMENTS.xaiCost },
);
x.add(
  "chat-stream-cost",
  "The last chunk of a stream states cost and counts.",
  sse([
    chunk("xai-1", "grok-4.5", "Water."),
    {
      id: "xai-1",
      object: "chat.completion.chunk",
      model: "grok-4.5",
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 350,
        completion_tokens_details: { reasoning_tokens: 200 },
        cost_in_usd_ticks: 17000000,
      },
    },
    "[DONE]",
  ]),
  { tokens: { prompt: 100, completion: 50, thinking: 200 }, providerCost: "1700000000", cost: "provider" },
  { source: DOCUMENTS.xaiCost, request: { stream: true } },
);
x.add(
  "responses-reasoning-inside",
  "On Responses output_tokens includes the reasoning, as OpenAI's does.",
  json({
    id: "resp_x1",
    object: "response",
    status: "completed",
    model: "grok-4.5",
    output: [],
    usage: {
      input_tokens: 40,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 300,
      output_tokens_details: { reasoning_tokens: 250 },
      total_tokens: 340,
    },
  }),
  { id: "resp_x1", tokens: { prompt: 40, cache_read: 0, completion: 50, thinking: 250 }, cost: RATES.grok45 },
  { path: "/v1/responses", request: { messages: undefined, input: "Why is rain wet?" } },
);
x.add(
  "messages",
  "The host's Anthropic API, with Anthropic's exclusive counts.",
  json({
    id: "xai-m1",
    type: "message",
    role: "assistant",
    model: "grok-4.5",
    content: [],
    stop_reason: "end_turn",
    usage: {
      input_tokens: 40,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 60,
      output_tokens: 9,
    },
  }),
  {
    id: "xai-m1",
    tokens: { prompt: 40, cache_read: 60, cache_write: 0, cache_write_1h: 0, completion: 9 },
    cost: RATES.grok45,
  },
  { path: "/v1/messages", request: { max_tokens: 10 }, source: DOCUMENTS.anthropicUsage },
);
x.add(
  "error-wrong-key",
  "A wrong key comes as a 400.",
  json(
    {
      code: "Client specified an invalid argument",
      error: "Incorrect API key provided: xa***1. You can obtain an API key from https://console.x.ai.",
    },
    { status: 400 },
  ),
  { error: ["auth", false, "Client specified an invalid argument"] },
);
x.add(
  "error-rate-limit",
  "A rate limit, its text as the error itself.",
  json({ code: "Some resource has been exhausted", error: "Too many requests" }, { status: 429 }),
  { error: ["rate_limit", true, "Some resource has been exhausted"] },
);

const g = defineApi({
  folder: "groq",
  provider: "groq",
  host: "api.groq.com",
  path: "/openai/v1/chat/completions",
  request: { model: "llama-3.3-70b-versatile", messages },
  source: DOCUMENTS.groq,
  id: "chatcmpl-groq",
});
export const groq = g.cases;

const groqUsage = {
  queue_time: 0.02,
  prompt_tokens: 40,
  prompt_time: 0.001,
  completion_tokens: 90,
  completion_time: 0.3,
  total_tokens: 130,
  total_time: 0.301,
};
g.add(
  "json",
  "Usage with durations beside the counts.",
  json(
    chat("chatcmpl-groq", "llama-3.3-70b-versatile", groqUsage, {
      service_tier: "on_demand",
      x_groq: { id: "req_1" },
    }),
  ),
  { tokens: { prompt: 40, completion: 90 }, tier: "on_demand", cost: RATES.groqLlama33 },
);
g.add(
  "stream-x-groq",
  "A stream states usage in x_groq.usage of its last chunk, asked or not.",
  sse([
    chunk("chatcmpl-groq", "llama-3.3-70b-versatile", "", { x_groq: { id: "req_1" } }),
    chunk("chatcmpl-groq", "llama-3.3-70b-versatile", "Water."),
    {
      id: "chatcmpl-groq",
      object: "chat.completion.chunk",
      model: "llama-3.3-70b-versatile",
      choices: finished,
      x_groq: { id: "req_1", usage: groqUsage },
    },
    "[DONE]",
  ]),
  { tokens: { prompt: 40, completion: 90 }, cost: RATES.groqLlama33 },
  { request: { stream: true } },
);
g.add(
  "json-reasoning-cached",
  "Cached and reasoning tokens inside the totals; flex costs the same as on demand.",
  json(
    chat(
      "chatcmpl-groq",
      "openai/gpt-oss-120b",
      {
        ...groqUsage,
        prompt_tokens: 2000,
        completion_tokens: 600,
        total_tokens: 2600,
        prompt_tokens_details: { cached_tokens: 1500 },
        completion_tokens_details: { reasoning_tokens: 450 },
      },
      { service_tier: "flex" },
    ),
  ),
  {
    model: "openai/gpt-oss-120b",
    tier: "flex",
    tokens: { prompt: 500, cache_read: 1500, completion: 150, thinking: 450 },
    cost: RATES.groqGptOss120b,
  },
  { request: { model: "openai/gpt-oss-120b", service_tier: "flex" } },
);
g.add(
  "error-rate-limit",
  "Tokens per minute.",
  json(
    {
      error: {
        message: "Rate limit reached for model in organization on tokens per minute (TPM)",
        type: "tokens",
        code: "rate_limit_exceeded",
      },
    },
    { status: 429 },
  ),
  { error: ["rate_limit", true, "rate_limit_exceeded"] },
  { source: DOCUMENTS.groqErrors },
);
g.add(
  "error-capacity",
  "A flex request without capacity: 498, Groq's own status.",
  json(
    {
      error: {
        message: "Flex tier capacity exceeded",
        type: "internal_server_error",
        code: "capacity_exceeded",
      },
    },
    { status: 498 },
  ),
  { error: ["server_error", true, "capacity_exceeded"] },
  { source: DOCUMENTS.groqErrors },
);

const m = defineApi({
  folder: "mistral",
  provider: "mistral",
  host: "api.mistral.ai",
  path: "/v1/chat/completions",
  request: { model: "mistral-large-2512", messages },
  source: DOCUMENTS.mistral,
  id: "cmpl-mistral",
});
export const mistral = m.cases;

m.add(
  "json-cached",
  "prompt_tokens includes the cached tokens.",
  json(
    chat("cmpl-mistral", "mistral-large-2512", {
      prompt_tokens: 900,
      completion_tokens: 60,
      total_tokens: 960,
      prompt_tokens_details: { cached_tokens: 800 },
    }),
  ),
  { tokens: { prompt: 100, cache_read: 800, completion: 60 }, cost: RATES.mistralLarge },
);
m.add(
  "json-reasoning",
  "completion_tokens includes the reasoning.",
  json(
    chat("cmpl-mistral", "magistral-medium-2509", {
      prompt_tokens: 20,
      completion_tokens: 400,
      total_tokens: 420,
      completion_tokens_details: { reasoning_tokens: 350 },
    }),
  ),
  {
    model: "magistral-medium-2509",
    tokens: { prompt: 20, completion: 50, thinking: 350 },
    cost: RATES.magistralMedium,
  },
  { request: { model: "magistral-medium-2509" } },
);
m.add(
  "stream",
  "Usage stands in the last chunk, the one with the finish_reason.",
  sse([
    chunk("cmpl-mistral", "mistral-large-2512", "Water."),
    {
      id: "cmpl-mistral",
      object: "chat.completion.chunk",
      model: "mistral-large-2512",
      choices: finished,
      usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 },
    },
    "[DONE]",
  ]),
  { tokens: { prompt: 11, completion: 3 }, cost: RATES.mistralLarge },
  { request: { stream: true } },
);
m.add(
  "fim",
  "Completions in the middle of code have Chat's usage.",
  json(
    chat("cmpl-mistral", "codestral-2508", { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 }),
  ),
  { model: "codestral-2508", tokens: { prompt: 30, completion: 12 }, cost: RATES.codestral },
  {
    path: "/v1/fim/completions",
    request: { model: "codestral-2508", messages: undefined, prompt: "def rain():", suffix: "return" },
  },
);
m.add(
  "embeddings",
  "Embeddings state completion_tokens of 0.",
  json({
    id: "embd-1",
    object: "list",
    data: [],
    model: "mistral-embed",
    usage: { prompt_tokens: 15, completion_tokens: 0, total_tokens: 15 },
  }),
  { model: "mistral-embed", id: "embd-1", tokens: { prompt: 15, completion: 0 }, cost: RATES.mistralEmbed },
  { path: "/v1/embeddings", request: { model: "mistral-embed", messages: undefined, input: ["rain"] } },
);
m.add(
  "error-validation",
  "A 422 whose detail is a list.",
  json(
    { detail: [{ type: "missing", loc: ["body", "model"], msg: "Field required", input: {} }] },
    { status: 422 },
  ),
  { error: ["bad_request", false, "missing"] },
);
m.add(
  "error-payment",
  "402: billing.",
  json(
    {
      object: "error",
      message: "Your subscription has expired",
      type: "payment_required",
      param: null,
      code: "1904",
    },
    { status: 402 },
  ),
  { error: ["auth", false, "1904"] },
);
m.add(
  "error-capacity",
  "A tier's capacity is a rate limit.",
  json(
    {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "service_tier_capacity_exceeded",
      param: null,
      code: "3505",
    },
    { status: 429 },
  ),
  { error: ["rate_limit", true, "3505"] },
);

const d = defineApi({
  folder: "deepseek",
  provider: "deepseek",
  host: "api.deepseek.com",
  path: "/chat/completions",
  request: { model: "deepseek-chat", messages },
  source: DOCUMENTS.deepseek,
  id: "ds-1",
});
export const deepseek = d.cases;

const deepseekUsage = {
  prompt_tokens: 1000,
  completion_tokens: 200,
  total_tokens: 1200,
  prompt_cache_hit_tokens: 896,
  prompt_cache_miss_tokens: 104,
};
d.add(
  "json-cache-hit",
  "prompt_tokens is the sum of prompt_cache_hit_tokens and prompt_cache_miss_tokens.",
  json(chat("ds-1", "deepseek-chat", deepseekUsage)),
  { tokens: { prompt: 104, cache_read: 896, completion: 200 }, cost: RATES.deepseekChat },
);
for (const [name, about, at, cost] of [
  ["json-peak", "Friday at 02:00 UTC: peak prices.", "2026-11-20T02:00:00.000Z", RATES.deepseekV4ProPeak],
  ["json-off-peak", "Friday at 20:00 UTC: off-peak.", "2026-11-20T20:00:00.000Z", RATES.deepseekV4Pro],
  ["json-weekend", "Saturday at 02:00 UTC: off-peak.", "2026-11-21T02:00:00.000Z", RATES.deepseekV4Pro],
] as const)
  d.add(
    name,
    about,
    json(chat("ds-1", "deepseek-v4-pro", deepseekUsage)),
    { model: "deepseek-v4-pro", tokens: { prompt: 104, cache_read: 896, completion: 200 }, cost },
    { at, request: { model: "deepseek-v4-pro" } },
  );
d.add(
  "json-both-spellings",
  "Cached tokens in both spellings are the same tokens, and counted once.",
  json(
    chat("ds-1", "deepseek-reasoner", {
      ...deepseekUsage,
      prompt_tokens_details: { cached_tokens: 896 },
      completion_tokens_details: { reasoning_tokens: 150 },
    }),
  ),
  {
    model: "deepseek-reasoner",
    tokens: { prompt: 104, cache_read: 896, completion: 50, thinking: 150 },
    cost: RATES.deepseekReasoner,
  },
  { path: "/v1/chat/completions", request: { model: "deepseek-reasoner" } },
);
d.add(
  "anthropic-shape",
  "The host's Anthropic API under /anthropic.",
  json({
    id: "ds-2",
    type: "message",
    role: "assistant",
    model: "deepseek-chat",
    content: [],
    usage: {
      input_tokens: 40,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 64,
      output_tokens: 9,
    },
  }),
  {
    id: "ds-2",
    tokens: { prompt: 40, cache_read: 64, cache_write: 0, cache_write_1h: 0, completion: 9 },
    cost: { ...RATES.deepseekChat, cacheWrite: "0" },
  },
  { path: "/anthropic/v1/messages", request: { max_tokens: 10 } },
);
d.add(
  "stream",
  "The chunk with the finish_reason has the usage; lines of comment keep the connection open.",
  sse(
    [
      chunk("ds-1", "deepseek-chat", "Water.", { usage: null }),
      {
        id: "ds-1",
        object: "chat.completion.chunk",
        model: "deepseek-chat",
        choices: finished,
        usage: deepseekUsage,
      },
      "[DONE]",
    ],
    { before: "" },
  ),
  { tokens: { prompt: 104, cache_read: 896, completion: 200 }, cost: RATES.deepseekChat },
  { request: { stream: true } },
);
for (const [name, status, message, error] of [
  ["error-balance", 402, "Insufficient Balance", ["auth", false, "unknown_error"]],
  ["error-parameters", 422, "Invalid parameters", ["bad_request", false, "unknown_error"]],
  ["error-rate-limit", 429, "Rate limit reached", ["rate_limit", true, "unknown_error"]],
  ["error-server", 500, "Server error", ["server_error", true, "unknown_error"]],
  ["error-overloaded", 503, "Server overloaded", ["server_error", true, "unknown_error"]],
] as const)
  d.add(
    name,
    `DeepSeek's ${status}.`,
    json({ error: { message, type: "unknown_error", param: null, code: null } }, { status }),
    { error },
    {
      source: DOCUMENTS.deepseekErrors,
    },
  );

const o = defineApi({
  folder: "openrouter",
  provider: "openrouter",
  host: "openrouter.ai",
  path: "/api/v1/chat/completions",
  request: { model: "anthropic/claude-haiku-4.5", messages },
  source: DOCUMENTS.openrouter,
  id: "gen-1",
});
export const openrouter = o.cases;
const routerModel = "anthropic/claude-haiku-4.5";
const routerBody = (usage: string) =>
  `{"id":"gen-1","provider":"Anthropic","model":"${routerModel}","object":"chat.completion","choices":[{"message":{"content":"Water."},"finish_reason":"stop"}],"usage":${usage}}`;

o.add(
  "json-cost",
  "The cost is stated; it is read from its own digits, beyond what a float holds.",
  json(
    routerBody(
      '{"prompt_tokens":194,"completion_tokens":2,"total_tokens":196,"cost":0.000204100000000001,"is_byok":false,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":0},"cost_details":{"upstream_inference_cost":null}}',
    ),
  ),
  {
    tokens: { prompt: 194, cache_read: 0, cache_write: 0, completion: 2, thinking: 0 },
    providerCost: "204100000",
    cost: "provider",
  },
);
o.add(
  "json-cost-exponent",
  "A small cost in exponent notation.",
  json(routerBody('{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11,"cost":1.5e-05}')),
  { tokens: { prompt: 10, completion: 1 }, providerCost: "15000000", cost: "provider" },
);
o.add(
  "json-own-key",
  "With a key of the caller's own, cost is the fee; the upstream's cost comes on top.",
  json(
    routerBody(
      '{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11,"cost":0.00075,"is_byok":true,"cost_details":{"upstream_inference_cost":0.015}}',
    ),
  ),
  { tokens: { prompt: 10, completion: 1 }, providerCost: "15750000000", cost: "provider" },
);
o.add(
  "json-free-model",
  "A cost of 0 that is stated is 0.",
  json(routerBody('{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11,"cost":0}')),
  { tokens: { prompt: 10, completion: 1 }, providerCost: "0", cost: "provider" },
);
o.add(
  "stream-with-comments",
  "Comments while the provider is slow, then usage and cost in the last chunk.",
  sse([
    chunk("gen-1", routerModel, "Water.", { provider: "Anthropic" }),
    {
      id: "gen-1",
      provider: "Anthropic",
      model: routerModel,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { content: "" }, finish_reason: null }],
      usage: {
        prompt_tokens: 14,
        completion_tokens: 163,
        total_tokens: 177,
        cost: 0.00829,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 6 },
      },
    },
    "[DONE]",
  ]),
  {
    tokens: { prompt: 4, cache_read: 4, cache_write: 6, completion: 163 },
    providerCost: "8290000000",
    cost: "provider",
  },
  { request: { stream: true } },
);
o.add(
  "stream-error-chunk",
  "An error inside a stream after a 200, with the status as its code.",
  sse([
    chunk("gen-1", routerModel, "Wa"),
    {
      id: "gen-1",
      object: "chat.completion.chunk",
      model: routerModel,
      provider: "Anthropic",
      error: {
        code: 502,
        message: "Provider disconnected",
        metadata: { error_type: "provider_unavailable" },
      },
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
    },
  ]),
  { id: "gen-1", error: ["server_error", true, "provider_unavailable"] },
  { request: { stream: true }, source: DOCUMENTS.openrouterErrors },
);
o.add(
  "responses",
  "The Responses API of the router.",
  namedSse([
    { type: "response.created", response: { id: "resp_or", model: routerModel, usage: null } } as {
      type: string;
    },
    {
      type: "response.completed",
      response: {
        id: "resp_or",
        model: routerModel,
        usage: { input_tokens: 20, output_tokens: 30, total_tokens: 50, cost: 0.00017 },
      },
    } as { type: string },
  ]),
  { id: "resp_or", tokens: { prompt: 20, completion: 30 }, providerCost: "170000000", cost: "provider" },
  { path: "/api/v1/responses", request: { messages: undefined, input: "rain", stream: true } },
);
o.add(
  "generation-is-free",
  "Asking for a generation's truth later is not billed.",
  json({ data: { id: "gen-1", total_cost: 0.1, usage: 0.1 } }),
  null,
  { method: "GET", path: "/api/v1/generation?id=gen-1" },
);
for (const [name, about, status, type, error] of [
  ["error-payment", "Out of credits.", 402, "payment_required", ["auth", false, "payment_required"]],
  [
    "error-budget-in-flight",
    "A budget filled by the caller's own running requests passes by itself.",
    402,
    "in_flight_budget_exhausted",
    ["rate_limit", true, "in_flight_budget_exhausted"],
  ],
  [
    "error-weight",
    "A request that is too heavy for the budget never passes.",
    402,
    "weight_exceeds_budget",
    ["auth", false, "weight_exceeds_budget"],
  ],
  [
    "error-rate-limit",
    "A rate limit.",
    429,
    "rate_limit_exceeded",
    ["rate_limit", true, "rate_limit_exceeded"],
  ],
  [
    "error-no-provider",
    "No provider is there.",
    503,
    "provider_unavailable",
    ["server_error", true, "provider_unavailable"],
  ],
] as const)
  o.add(
    name,
    about,
    json(
      { error: { code: status, message: "No.", metadata: { error_type: type } }, user_id: "user_1" },
      { status },
    ),
    { error },
    {
      source: DOCUMENTS.openrouterErrors,
    },
  );

const others = [
  [
    "together",
    "api.together.xyz",
    "/v1/chat/completions",
    "meta-llama/Llama-3.3-70B-Instruct-Turbo",
    RATES.togetherLlama33,
    DOCUMENTS.together,
  ],
  [
    "fireworks",
    "api.fireworks.ai",
    "/inference/v1/chat/completions",
    "accounts/fireworks/models/gpt-oss-120b",
    RATES.fireworksGptOss120b,
    DOCUMENTS.fireworks,
  ],
  [
    "cerebras",
    "api.cerebras.ai",
    "/v1/chat/completions",
    "gpt-oss-120b",
    RATES.cerebrasGptOss120b,
    DOCUMENTS.cerebras,
  ],
  [
    "cohere",
    "api.cohere.ai",
    "/compatibility/v1/chat/completions",
    "command-a-03-2025",
    RATES.commandA,
    DOCUMENTS.cohereCompatibility,
  ],
] as const;
export const otherHosts = others.flatMap(([provider, host, path, model, cost, source]) => {
  const api = defineApi({
    folder: provider,
    provider,
    host,
    path,
    request: { model, messages },
    source,
    id: "id-1",
  });
  api.add(
    "json",
    "OpenAI's shape.",
    json(chat("id-1", model, { prompt_tokens: 61, completion_tokens: 24, total_tokens: 85 })),
    { tokens: { prompt: 61, completion: 24 }, cost },
  );
  api.add(
    "stream-usage-in-every-chunk",
    "Usage in every chunk, cumulative: the last one wins.",
    sse([
      chunk("id-1", model, "Wa", { usage: { prompt_tokens: 61, completion_tokens: 1, total_tokens: 62 } }),
      chunk("id-1", model, "ter.", { usage: { prompt_tokens: 61, completion_tokens: 2, total_tokens: 63 } }),
      {
        id: "id-1",
        object: "chat.completion.chunk",
        model,
        choices: finished,
        usage: { prompt_tokens: 61, completion_tokens: 24, total_tokens: 85 },
      },
      "[DONE]",
    ]),
    { tokens: { prompt: 61, completion: 24 }, cost },
    { request: { stream: true } },
  );
  return api.cases;
});

const p = defineApi({
  folder: "perplexity",
  provider: "perplexity",
  host: "api.perplexity.ai",
  path: "/chat/completions",
  request: { model: "sonar-pro", messages },
  source: DOCUMENTS.perplexity,
  id: "pplx-1",
});
export const perplexity = p.cases;
p.add(
  "json-stated-cost",
  "cost.total_cost is what is billed, the fee of the request included.",
  json(
    chat("pplx-1", "sonar-pro", {
      prompt_tokens: 14,
      completion_tokens: 300,
      total_tokens: 314,
      search_context_size: "low",
      cost: {
        input_tokens_cost: 0.000042,
        output_tokens_cost: 0.0045,
        request_cost: 0.006,
        total_cost: 0.010542,
      },
    }),
  ),
  { tokens: { prompt: 14, completion: 300 }, providerCost: "10542000000", cost: "provider" },
);
p.add(
  "json-deep-research",
  "Citations, searches and reasoning are counted and billed apart.",
  json(
    chat("pplx-1", "sonar-deep-research", {
      prompt_tokens: 33,
      completion_tokens: 7000,
      total_tokens: 7033,
      citation_tokens: 20000,
      num_search_queries: 21,
      reasoning_tokens: 70000,
    }),
  ),
  {
    model: "sonar-deep-research",
    tokens: { prompt: 33, completion: 7000, thinking: 70000 },
    extras: { citation_tokens: 20000, web_search_requests: 21 },
    cost: [
      ["input", 33, "2"],
      ["output", 7000, "8"],
      ["thinking", 70000, "3"],
      ["citations", 20000, "2"],
      ["web search", 21, "5000"],
    ],
  },
  { request: { model: "sonar-deep-research" } },
);
