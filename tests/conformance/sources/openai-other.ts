import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { bytesOf, json, namedSse } from "./wire.ts";

const ID = "resp_Conformance1";

const api = defineApi({
  folder: "openai-responses",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/responses",
  request: { model: "gpt-5", input: "Why is rain wet?" },
  source: DOCUMENTS.openaiResponses,
  id: ID,
});
export const openaiResponses = api.cases;

const MODEL = "gpt-5-2025-08-07";
const usage = (input: number, cached: number, output: number, reasoning: number, more: object = {}) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, ...more },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
});
const response = (status: string, counts: unknown, more: object = {}) => ({
  id: ID,
  object: "response",
  created_at: 1795262400,
  status,
  error: null,
  incomplete_details: null,
  model: MODEL,
  output: [
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Water.", annotations: [] }],
    },
  ],
  service_tier: "default",
  usage: counts,
  ...more,
});
const answered = { model: MODEL, tier: "default" };
const event = (type: string, more: object) => ({ type, sequence_number: 1, ...more });
const opening = [
  event("response.created", {
    response: response("in_progress", null, { output: [], service_tier: "auto" }),
  }),
  event("response.in_progress", {
    response: response("in_progress", null, { output: [], service_tier: "auto" }),
  }),
  event("response.output_text.delta", {
    item_id: "msg_1",
    output_index: 0,
    content_index: 0,
    delta: "Water.",
  }),
];
const stream = { request: { stream: true }, source: DOCUMENTS.openaiResponsesStream };

api.add(
  "json",
  "input_tokens includes the cached, output_tokens the reasoning.",
  json(response("completed", usage(1036, 1024, 256, 192))),
  { ...answered, tokens: { prompt: 12, cache_read: 1024, completion: 64, thinking: 192 }, cost: RATES.gpt5 },
);

api.add(
  "json-cache-writes",
  "Cache writes are a part of input_tokens, split by time to live.",
  json(
    response(
      "completed",
      usage(4000, 1000, 50, 0, {
        cache_write_tokens: 2000,
        cache_write_tokens_details: { ttl_30m_tokens: 1500, ttl_12h_tokens: 500 },
      }),
      { model: "gpt-6-sol" },
    ),
  ),
  {
    model: "gpt-6-sol",
    tier: "default",
    tokens: { prompt: 1000, cache_read: 1000, cache_write: 2000, completion: 50, thinking: 0 },
    extras: { cache_write_30m_tokens: 1500, cache_write_12h_tokens: 500 },
    cost: RATES.gpt6Sol,
  },
  { request: { model: "gpt-6-sol" } },
);

api.add(
  "json-flex",
  "Flex costs half.",
  json(response("completed", usage(1000, 0, 100, 40), { service_tier: "flex" })),
  {
    ...answered,
    tier: "flex",
    tokens: { prompt: 1000, cache_read: 0, completion: 60, thinking: 40 },
    cost: RATES.gpt5Flex,
  },
  { request: { service_tier: "flex" } },
);

api.add(
  "json-fast-reports-priority",
  "Fast is asked for, priority is answered and billed.",
  json(
    response("completed", usage(1000, 100, 100, 40), {
      service_tier: "priority",
      model: "gpt-5.4-2026-03-05",
    }),
  ),
  {
    model: "gpt-5.4-2026-03-05",
    tier: "priority",
    tokens: { prompt: 900, cache_read: 100, completion: 60, thinking: 40 },
    cost: RATES.gpt54Priority,
  },
  { request: { model: "gpt-5.4", service_tier: "fast" } },
);

api.add(
  "json-priority-long-context",
  "The priority price list leaves long contexts out: unpriced.",
  json(
    response("completed", usage(300000, 0, 100, 40), {
      service_tier: "priority",
      model: "gpt-5.4-2026-03-05",
    }),
  ),
  {
    model: "gpt-5.4-2026-03-05",
    tier: "priority",
    tokens: { prompt: 300000, cache_read: 0, completion: 60, thinking: 40 },
  },
  { request: { model: "gpt-5.4", service_tier: "priority" } },
);

api.add(
  "json-incomplete",
  "An answer that ran into max_output_tokens is billed.",
  json(response("incomplete", usage(40, 0, 16, 16), { incomplete_details: { reason: "max_output_tokens" } })),
  { ...answered, tokens: { prompt: 40, cache_read: 0, completion: 0, thinking: 16 }, cost: RATES.gpt5 },
);

api.add(
  "json-failed",
  "A failed response comes with a 200 and its error inside.",
  json(
    response("failed", null, { output: [], error: { code: "server_error", message: "The model failed." } }),
  ),
  { ...answered, id: ID, error: ["server_error", true, "server_error"] },
);

api.add(
  "stream-file-search",
  "A file search on the server is billed by the call. Each item occurs twice in the stream and once in the output.",
  namedSse([
    ...["fs_1", "fs_2"].flatMap((id) =>
      ["added", "done"].map((event) => ({
        type: `response.output_item.${event}`,
        output_index: 0,
        item: { id, type: "file_search_call", status: "completed", queries: ["rain"], results: null },
      })),
    ),
    {
      type: "response.completed",
      response: response("completed", usage(8000, 0, 300, 100), {
        model: "gpt-5-mini-2025-08-07",
        output: [{ id: "fs_2", type: "file_search_call", status: "completed", queries: ["rain"] }],
      }),
    },
  ]),
  {
    model: "gpt-5-mini-2025-08-07",
    streaming: true,
    tier: "default",
    tokens: { prompt: 8000, cache_read: 0, completion: 200, thinking: 100 },
    extras: { file_search_requests: 2 },
    cost: [
      ["input", 8000, "0.25"],
      ["output", 300, "2"],
      ["file search", 2, "2500"],
    ],
  },
  {
    request: {
      model: "gpt-5-mini",
      stream: true,
      tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }],
    },
    source: {
      document:
        "https://developers.openai.com/api/docs/guides/tools-file-search; https://developers.openai.com/api/docs/pricing",
      read_on: null,
    },
  },
);

api.add(
  "json-web-search",
  "A search on the server is billed by the call; opening a page that it found is not.",
  json(
    response("completed", usage(8000, 0, 300, 100), {
      model: "gpt-5-mini-2025-08-07",
      output: [
        {
          id: "ws_1",
          type: "web_search_call",
          status: "completed",
          action: { type: "search", query: "rain" },
        },
        {
          id: "ws_2",
          type: "web_search_call",
          status: "completed",
          action: { type: "open_page", url: "https://example.invalid/" },
        },
        {
          id: "msg_1",
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "Water." }],
        },
      ],
    }),
  ),
  {
    model: "gpt-5-mini-2025-08-07",
    tier: "default",
    tokens: { prompt: 8000, cache_read: 0, completion: 200, thinking: 100 },
    extras: { web_search_requests: 1 },
    cost: RATES.gpt5Mini,
  },
  {
    request: { model: "gpt-5-mini", tools: [{ type: "web_search" }] },
    source: {
      document: "https://developers.openai.com/api/docs/guides/tools-web-search",
      read_on: null,
    },
  },
);

api.add(
  "stream-completed",
  "Usage stands in response.completed, inside response; response.created has null.",
  namedSse([
    ...opening,
    event("response.completed", { response: response("completed", usage(1036, 1024, 256, 192)) }),
  ]),
  { ...answered, tokens: { prompt: 12, cache_read: 1024, completion: 64, thinking: 192 }, cost: RATES.gpt5 },
  stream,
);

api.add(
  "stream-incomplete",
  "response.incomplete has the usage as well.",
  namedSse([
    ...opening,
    event("response.incomplete", {
      response: response("incomplete", usage(30, 0, 64, 64), {
        incomplete_details: { reason: "max_output_tokens" },
      }),
    }),
  ]),
  { ...answered, tokens: { prompt: 30, cache_read: 0, completion: 0, thinking: 64 }, cost: RATES.gpt5 },
  stream,
);

api.add(
  "stream-failed",
  "response.failed states the error, and usage where there was some.",
  namedSse([
    ...opening,
    event("response.failed", {
      response: response("failed", usage(30, 0, 5, 0), {
        error: { code: "rate_limit_exceeded", message: "Rate limit reached." },
      }),
    }),
  ]),
  {
    ...answered,
    id: ID,
    tokens: { prompt: 30, cache_read: 0, completion: 5, thinking: 0 },
    cost: RATES.gpt5,
    error: ["rate_limit", true, "rate_limit_exceeded"],
  },
  stream,
);

api.add(
  "stream-error-event",
  "The stream's own error event has code and message beside its type.",
  namedSse([
    ...opening,
    event("error", { code: "server_error", message: "Something went wrong.", param: null }),
  ]),
  { model: MODEL, tier: "auto", id: ID, error: ["server_error", true, "server_error"] },
  stream,
);

const whole = namedSse([
  ...opening,
  event("response.completed", { response: response("completed", usage(10, 0, 5, 0)) }),
]);
api.add(
  "stream-cut",
  "Cut before response.completed: the model is known, the usage is not.",
  { ...whole, cutAt: bytesOf(whole, 3) },
  { model: MODEL, tier: "auto", id: ID, error: ["network", true, null] },
  stream,
);

api.add(
  "stream-large-last-event",
  "The last event repeats the whole response, here with an image of 200 KB, before its usage.",
  namedSse([
    ...opening,
    event("response.completed", {
      response: response("completed", usage(90, 0, 1200, 0), {
        output: [{ type: "image_generation_call", result: "iVBORw0KGgo".repeat(18_000) }],
      }),
    }),
  ]),
  { ...answered, tokens: { prompt: 90, cache_read: 0, completion: 1200, thinking: 0 }, cost: RATES.gpt5 },
  stream,
);

api.add(
  "input-tokens-is-free",
  "Counting input tokens is free.",
  json({ object: "response.input_tokens", input_tokens: 11 }),
  null,
  {
    path: "/v1/responses/input_tokens",
  },
);

const embeddings = defineApi({
  folder: "openai-embeddings",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/embeddings",
  request: { model: "text-embedding-3-small", input: ["rain", "snow"] },
  source: DOCUMENTS.openaiEmbeddings,
  id: null,
});
export const openaiEmbeddings = embeddings.cases;

const vectors = (counts: unknown) => ({
  object: "list",
  data: [0, 1].map((index) => ({ object: "embedding", index, embedding: [0.012, -0.003, 0.5] })),
  model: "text-embedding-3-small",
  usage: counts,
});
embeddings.add(
  "json",
  "Input alone: there is no output to miss.",
  json(vectors({ prompt_tokens: 8, total_tokens: 8 })),
  { tokens: { prompt: 8, completion: 0 }, cost: RATES.embedding3Small },
);
embeddings.add(
  "json-total-only",
  "A host that states the total alone.",
  json(vectors({ total_tokens: 31 })),
  { tokens: { prompt: 31, completion: 0 }, cost: RATES.embedding3Small },
);
embeddings.add("json-usage-missing", "No usage: unknown, not 0.", json(vectors(undefined)), {});
embeddings.add(
  "error-rate-limit",
  "A rate limit.",
  json(
    { error: { message: "Rate limit reached", type: "requests", param: null, code: "rate_limit_exceeded" } },
    { status: 429 },
  ),
  { error: ["rate_limit", true, "rate_limit_exceeded"] },
  { source: DOCUMENTS.openaiErrors },
);
