import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { bytesOf, json, namedSse, raw, sse } from "./wire.ts";

const MODEL = "claude-haiku-4-5-20251001";
const ID = "msg_01ConformanceCase";

const api = defineApi({
  folder: "anthropic-messages",
  provider: "anthropic",
  host: "api.anthropic.com",
  path: "/v1/messages",
  request: {
    model: "claude-haiku-4-5",
    max_tokens: 1024,
    messages: [{ role: "user", content: "Why is rain wet?" }],
  },
  source: DOCUMENTS.anthropicUsage,
  id: ID,
});
export const anthropicMessages = api.cases;

const message = (usage: unknown, more: object = {}) => ({
  id: ID,
  type: "message",
  role: "assistant",
  model: MODEL,
  content: [{ type: "text", text: "Because it is water." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
  ...more,
});
const start = (usage: unknown, more: object = {}) => ({
  type: "message_start",
  message: message(usage, { content: [], stop_reason: null, ...more }),
});
const text = (piece: string) => ({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: piece },
});
const body = [
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  text("Because it "),
  text("is water."),
  { type: "content_block_stop", index: 0 },
];
const delta = (usage: unknown, stop: string | null = "end_turn") => ({
  type: "message_delta",
  delta: { stop_reason: stop, stop_sequence: null },
  usage,
});
const stop = { type: "message_stop" };
const stream = { request: { stream: true } };
const answered = { model: MODEL };

api.add(
  "json",
  "A whole answer: input_tokens is fresh input alone.",
  json(
    message({
      input_tokens: 14,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 21,
      service_tier: "standard",
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 14, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 21 },
    tier: "standard",
    cost: RATES.haiku45,
  },
);

api.add(
  "json-cache-split",
  "Cache reads and writes stand beside input_tokens; the writes are split by time to live, each with its own price.",
  json(
    message({
      input_tokens: 30,
      cache_creation_input_tokens: 5000,
      cache_read_input_tokens: 12000,
      cache_creation: { ephemeral_5m_input_tokens: 4000, ephemeral_1h_input_tokens: 1000 },
      output_tokens: 210,
      service_tier: "standard",
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 30, cache_read: 12000, cache_write: 5000, cache_write_1h: 1000, completion: 210 },
    tier: "standard",
    cost: RATES.haiku45,
  },
);

api.add(
  "json-cache-total-without-split",
  "A total of cache writes without its split: the time to live is unknown, and the default one's price applies.",
  json(
    message({
      input_tokens: 8,
      cache_creation_input_tokens: 2048,
      cache_read_input_tokens: 0,
      output_tokens: 5,
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 8, cache_read: 0, cache_write: 2048, completion: 5 },
    cost: RATES.haiku45,
  },
);

api.add(
  "json-cache-null",
  "Cache counts of null beside a stated input mean that there was no cache.",
  json(
    message({
      input_tokens: 9,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      cache_creation: null,
      output_tokens: 4,
      server_tool_use: null,
      service_tier: null,
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 9, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 4 },
    cost: RATES.haiku45,
  },
);

api.add(
  "json-thinking",
  "output_tokens includes the thinking that output_tokens_details names: 900 of 1,000 were thought.",
  json(
    message({
      input_tokens: 50,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1000,
      output_tokens_details: { thinking_tokens: 900 },
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 50, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 100, thinking: 900 },
    cost: RATES.haiku45,
  },
  { source: DOCUMENTS.anthropicBetaUsage },
);

api.add(
  "json-web-search",
  "Searches on the server are billed by the piece, beside the tokens; fetches are counted and free.",
  json(
    message({
      input_tokens: 6000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 400,
      server_tool_use: { web_search_requests: 3, web_fetch_requests: 2 },
      service_tier: "standard",
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 6000, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 400 },
    extras: { web_search_requests: 3, web_fetch_requests: 2 },
    tier: "standard",
    cost: RATES.haiku45,
  },
);

api.add(
  "json-batch-tier",
  "An answer whose service_tier is batch costs half.",
  json(
    message({
      input_tokens: 2000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 1000,
      output_tokens: 300,
      service_tier: "batch",
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 2000, cache_read: 1000, cache_write: 0, cache_write_1h: 0, completion: 300 },
    tier: "batch",
    cost: RATES.haiku45Batch,
  },
);

api.add(
  "json-priority-tier",
  "The priority tier is sold by commitment and has no published price: unpriced rather than wrong.",
  json(message({ input_tokens: 10, output_tokens: 10, service_tier: "priority" })),
  {
    ...answered,
    tokens: { prompt: 10, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 10 },
    tier: "priority",
  },
);

api.add(
  "json-fast-mode",
  "usage.speed says that fast mode served the request, at twice the price for this model.",
  json(
    message(
      {
        input_tokens: 100,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 400,
        output_tokens: 50,
        service_tier: "standard",
        speed: "fast",
      },
      { model: "claude-opus-4-8" },
    ),
  ),
  {
    model: "claude-opus-4-8",
    tokens: { prompt: 100, cache_read: 400, cache_write: 0, cache_write_1h: 0, completion: 50 },
    extras: { fast_mode: 1 },
    tier: "standard",
    cost: RATES.opus48Fast,
  },
  { source: DOCUMENTS.anthropicBetaUsage, request: { model: "claude-opus-4-8", speed: "fast" } },
);

api.add(
  "json-us-inference",
  "inference_geo us multiplies every token price by 1.1.",
  json(
    message(
      {
        input_tokens: 100,
        output_tokens: 50,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
        inference_geo: "us",
      },
      { model: "claude-opus-4-6" },
    ),
  ),
  {
    model: "claude-opus-4-6",
    tokens: { prompt: 100, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 50 },
    extras: { us_inference: 1 },
    cost: RATES.opus46Us,
  },
  { request: { model: "claude-opus-4-6", inference_geo: "us" } },
);

api.add(
  "json-long-context",
  "Above 200,000 tokens of total input the whole request costs more; cache reads count towards the total.",
  json(
    message(
      {
        input_tokens: 150000,
        cache_creation_input_tokens: 1000,
        cache_read_input_tokens: 60000,
        output_tokens: 700,
      },
      { model: "claude-sonnet-4-5-20250929" },
    ),
  ),
  {
    model: "claude-sonnet-4-5-20250929",
    tokens: { prompt: 150000, cache_read: 60000, cache_write: 1000, completion: 700 },
    cost: RATES.sonnet45Long,
  },
  { source: DOCUMENTS.anthropicPricing, request: { model: "claude-sonnet-4-5" } },
);

api.add(
  "json-at-the-tier",
  "At exactly 200,000 tokens of total input the base price still applies.",
  json(
    message(
      {
        input_tokens: 140000,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 60000,
        output_tokens: 700,
      },
      { model: "claude-sonnet-4-5-20250929" },
    ),
  ),
  {
    model: "claude-sonnet-4-5-20250929",
    tokens: { prompt: 140000, cache_read: 60000, cache_write: 0, cache_write_1h: 0, completion: 700 },
    cost: RATES.sonnet45,
  },
  { source: DOCUMENTS.anthropicPricing, request: { model: "claude-sonnet-4-5" } },
);

api.add(
  "json-unknown-model",
  "A model that no price list knows: counts without a cost, never a cost of 0.",
  json(message({ input_tokens: 10, output_tokens: 5 }, { model: "claude-next-9" })),
  {
    model: "claude-next-9",
    tokens: { prompt: 10, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 5 },
  },
  { request: { model: "claude-next-9" } },
);

api.add(
  "json-usage-missing",
  "No usage object: every count is null, the cost too, and the record says that it is not complete.",
  json(message(undefined)),
  { ...answered },
);

api.add(
  "json-usage-word-in-text",
  "The word usage in the model's own text, as a key of a tool's input and inside a string, is not the usage.",
  json(
    message(
      { input_tokens: 77, output_tokens: 33 },
      {
        content: [
          { type: "text", text: '{"usage":{"input_tokens":999999,"output_tokens":999999}}' },
          {
            type: "tool_use",
            id: "toolu_1",
            name: "log",
            input: { usage: { input_tokens: 5, output_tokens: 6 } },
          },
        ],
      },
    ),
  ),
  {
    ...answered,
    tokens: { prompt: 77, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 33 },
    cost: RATES.haiku45,
  },
);

api.add(
  "json-escapes-in-text",
  "Text with an odd number of escaped quotes, brackets that close nothing, and a backslash at its end.",
  json(
    message(
      { input_tokens: 78, output_tokens: 34 },
      {
        content: [
          { type: "text", text: '"}]},"usage":{"input_tokens":1,"output_tokens":1},"a":"\\\\"}' },
          { type: "text", text: "C:\\rain\\" },
        ],
      },
    ),
  ),
  {
    ...answered,
    tokens: { prompt: 78, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 34 },
    cost: RATES.haiku45,
  },
);

api.add(
  "json-pretty-printed",
  "The same object with line breaks, blanks around its colons and the usage before everything else.",
  json(
    `{\r\n\t"usage" : {\n    "output_tokens" : 8 ,\n    "input_tokens" :\t17\n  } ,\n  "model" : "${MODEL}" ,\n  "id" : "${ID}" ,\n  "type":"message"\n}\n`,
  ),
  {
    ...answered,
    tokens: { prompt: 17, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 8 },
    cost: RATES.haiku45,
  },
);

api.add(
  "json-escaped-keys",
  "JSON allows letters of a key and of a model's name to be escaped.",
  json(
    `{"\\u0075sage":{"input\\u005ftokens":6,"output_tokens":7},"mod\\u0065l":"claude-h\\u0061iku-4-5-20251001","id":"${ID}"}`,
  ),
  {
    ...answered,
    tokens: { prompt: 6, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 7 },
    cost: RATES.haiku45,
  },
);

api.add(
  "json-contradicting-split",
  "A split that exceeds its total: the total is what is billed, and the record is marked as not complete.",
  json(
    message({
      input_tokens: 5,
      cache_creation_input_tokens: 100,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 400 },
      cache_read_input_tokens: 0,
      output_tokens: 5,
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 5, cache_read: 0, cache_write: 100, cache_write_1h: 100, completion: 5 },
    complete: false,
    cost: RATES.haiku45,
  },
);

api.add(
  "json-beta-query",
  "The beta API is the same path with a query.",
  json(message({ input_tokens: 3, output_tokens: 2 })),
  {
    ...answered,
    tokens: { prompt: 3, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 2 },
    cost: RATES.haiku45,
  },
  { path: "/v1/messages?beta=true", source: DOCUMENTS.anthropicBetaUsage },
);

api.add(
  "stream",
  "message_start states usage, message_delta states it again: its cumulative counts replace, and are never added.",
  namedSse([
    start({
      input_tokens: 25,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1,
      service_tier: "standard",
    }),
    ...body,
    delta({ output_tokens: 15 }),
    stop,
  ]),
  {
    ...answered,
    tokens: { prompt: 25, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 15 },
    tier: "standard",
    cost: RATES.haiku45,
  },
  { ...stream, source: DOCUMENTS.anthropicStreaming },
);

api.add(
  "stream-delta-repeats-all",
  "The delta repeats every count, and its input has grown with the server's tools: the later counts are the truth.",
  namedSse([
    start({
      input_tokens: 100,
      cache_creation_input_tokens: 300,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 0 },
      output_tokens: 2,
      service_tier: "standard",
    }),
    ...body,
    delta({
      input_tokens: 4100,
      cache_creation_input_tokens: 300,
      cache_read_input_tokens: 800,
      output_tokens: 512,
      server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 },
    }),
    stop,
  ]),
  {
    ...answered,
    tokens: { prompt: 4100, cache_read: 800, cache_write: 300, cache_write_1h: 0, completion: 512 },
    extras: { web_search_requests: 1 },
    tier: "standard",
    cost: RATES.haiku45,
  },
  stream,
);

api.add(
  "stream-split-only-in-start",
  "Only message_start has the split by time to live: it is kept, and what the delta adds costs the default write.",
  namedSse([
    start({
      input_tokens: 10,
      cache_creation_input_tokens: 1500,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 1000 },
      output_tokens: 1,
      service_tier: "standard",
    }),
    ...body,
    delta({
      input_tokens: 10,
      cache_creation_input_tokens: 2500,
      cache_read_input_tokens: 0,
      output_tokens: 64,
    }),
    stop,
  ]),
  {
    ...answered,
    tokens: { prompt: 10, cache_read: 0, cache_write: 2500, cache_write_1h: 1000, completion: 64 },
    tier: "standard",
    cost: RATES.haiku45,
  },
  stream,
);

api.add(
  "stream-several-deltas",
  "Several message_delta events, each cumulative; a null in a later one takes nothing back.",
  namedSse([
    start({ input_tokens: 40, cache_read_input_tokens: 7, cache_creation_input_tokens: 0, output_tokens: 1 }),
    ...body,
    delta({ output_tokens: 20 }, null),
    delta({ input_tokens: null, cache_read_input_tokens: null, output_tokens: 60 }, null),
    delta({ output_tokens: 90, output_tokens_details: { thinking_tokens: 30 } }),
    stop,
  ]),
  {
    ...answered,
    tokens: { prompt: 40, cache_read: 7, cache_write: 0, cache_write_1h: 0, completion: 60, thinking: 30 },
    cost: RATES.haiku45,
  },
  { ...stream, source: DOCUMENTS.anthropicBetaUsage },
);

const whole = namedSse([
  start({ input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 3 }),
  ...body,
  delta({ output_tokens: 15 }),
  stop,
]);

api.add(
  "stream-cut-after-start",
  "The connection ends inside the text: what message_start stated is kept, and known not to be all.",
  { ...whole, cutAt: bytesOf(whole, 4) + 11 },
  {
    ...answered,
    tokens: { prompt: 25, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 3 },
    complete: false,
    cost: RATES.haiku45,
    error: ["network", true, null],
    id: ID,
  },
  stream,
);

api.add(
  "stream-cut-after-delta",
  "The connection ends after the last message_delta, before message_stop: the usage is whole.",
  { ...whole, cutAt: bytesOf(whole, 7) },
  {
    ...answered,
    tokens: { prompt: 25, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 15 },
    cost: RATES.haiku45,
    error: ["network", true, null],
    id: ID,
  },
  stream,
);

api.add(
  "stream-client-aborted",
  "The client hangs up: a record with what was seen, an error that is the client's own and not worth a retry.",
  { ...whole, cutAt: bytesOf(whole, 4) },
  {
    ...answered,
    tokens: { prompt: 25, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 3 },
    complete: false,
    cost: RATES.haiku45,
    error: ["network", false, null],
    id: ID,
  },
  { ...stream, ended: "client_aborted" },
);

api.add(
  "stream-error-event",
  "An error event after a 200: the call failed, and what was stated before counts as not complete.",
  namedSse([
    start({ input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }),
    ...body.slice(0, 3),
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } as { type: string },
  ]),
  {
    ...answered,
    tokens: { prompt: 25, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 1 },
    complete: false,
    cost: RATES.haiku45,
    error: ["server_error", true, "overloaded_error"],
    id: ID,
  },
  { ...stream, source: DOCUMENTS.anthropicErrors },
);

api.add(
  "stream-crlf-and-comments",
  "Lines ended by CR LF, comments, fields without a blank behind the colon, an event in two data lines.",
  raw(
    [
      ": keep-alive\r\n\r\n",
      `event:message_start\r\ndata:${JSON.stringify(start({ input_tokens: 12, output_tokens: 1 }))}\r\n\r\n`,
      ":\r\n",
      'id: 7\r\nretry: 100\r\nevent: message_delta\r\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},\r\n',
      'data: "usage":{"output_tokens":30}}\r\n\r\n',
      'event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r\n',
    ],
    { headers: [["Content-Type", "text/event-stream"]], streams: true, framing: "chunked" },
  ),
  {
    ...answered,
    tokens: { prompt: 12, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 30 },
    cost: RATES.haiku45,
  },
  { ...stream, source: DOCUMENTS.eventSource },
);

api.add(
  "stream-byte-order-mark",
  "An event stream may begin with a byte order mark, and its last event may lack the empty line.",
  raw(
    [
      `\u{feff}event: message_start\ndata: ${JSON.stringify(start({ input_tokens: 12, output_tokens: 1 }))}\n\n`,
      `event: message_delta\ndata: ${JSON.stringify(delta({ output_tokens: 31 }))}\n`,
    ],
    { headers: [["Content-Type", "text/event-stream"]], streams: true, framing: "chunked" },
  ),
  {
    ...answered,
    tokens: { prompt: 12, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 31 },
    cost: RATES.haiku45,
  },
  { ...stream, source: DOCUMENTS.eventSource },
);

api.add(
  "stream-spaced-json",
  "Events without names whose JSON has blanks after colons and commas, as some proxies write it anew.",
  sse(
    [start({ input_tokens: 12, output_tokens: 1 }), delta({ output_tokens: 32 }), stop].map((event) =>
      JSON.stringify(event).replaceAll('":', '" : ').replaceAll(',"', ' , "'),
    ),
  ),
  {
    ...answered,
    tokens: { prompt: 12, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 32 },
    cost: RATES.haiku45,
  },
  stream,
);

api.add(
  "stream-usage-word-in-text",
  "Pieces of text and of a tool's input that look like a usage object.",
  namedSse([
    start({ input_tokens: 12, output_tokens: 1 }),
    text('"usage": {"input_tokens": 99999, "output_tokens": 99999}'),
    {
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json: '{"usage":{"output_tokens":5}}' },
    } as { type: string },
    delta({ output_tokens: 33 }),
    stop,
  ]),
  {
    ...answered,
    tokens: { prompt: 12, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 33 },
    cost: RATES.haiku45,
  },
  stream,
);

api.add(
  "json-compaction",
  "The tokens of a compaction are in usage.iterations alone and not in the totals, and they are billed.",
  json(
    message({
      input_tokens: 23000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1000,
      iterations: [
        {
          type: "compaction",
          input_tokens: 180000,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          cache_creation: null,
          output_tokens: 3500,
        },
        {
          type: "message",
          model: MODEL,
          input_tokens: 23000,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          cache_creation: null,
          output_tokens: 1000,
        },
      ],
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 203000, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 4500 },
    extras: { model_calls: 2 },
    cost: RATES.haiku45,
  },
  { source: DOCUMENTS.anthropicIterations, path: "/v1/messages?beta=true" },
);

const call = (type: string, input: number, output: number) => ({
  type,
  model: "claude-sonnet-4-5-20250929",
  input_tokens: input,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: output,
});
const SONNET = "claude-sonnet-4-5-20250929";
const sonnet = { source: DOCUMENTS.anthropicIterations, request: { model: "claude-sonnet-4-5" } };

api.add(
  "json-calls-below-the-tier",
  "Two calls of 180,000 and 60,000 tokens: together above the context tier, each for itself below it.",
  json(
    message(
      {
        ...call("message", 240000, 300),
        iterations: [call("message", 180000, 100), call("message", 60000, 200)],
      },
      { model: SONNET },
    ),
  ),
  {
    model: SONNET,
    tokens: { prompt: 240000, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 300 },
    extras: { model_calls: 2 },
    cost: RATES.sonnet45,
  },
  sonnet,
);

api.add(
  "json-one-call-above-the-tier",
  "Of two calls one is above the context tier: its tokens alone cost more.",
  json(
    message(
      {
        ...call("message", 260000, 300),
        iterations: [call("message", 210000, 100), call("message", 50000, 200)],
      },
      { model: SONNET },
    ),
  ),
  {
    model: SONNET,
    tokens: { prompt: 260000, cache_read: 0, cache_write: 0, cache_write_1h: 0, completion: 300 },
    extras: { model_calls: 2, above_200k_prompt_tokens: 210000, above_200k_output_tokens: 100 },
    cost: [
      ["input", 50000, "3"],
      ["output", 200, "15"],
      ["input above 200,000", 210000, "6"],
      ["output above 200,000", 100, "22.5"],
    ],
  },
  sonnet,
);

api.add(
  "json-iterations-of-a-tool-loop",
  "Several message iterations are the parts of the totals, not something beside them.",
  json(
    message({
      input_tokens: 3000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 500,
      output_tokens: 300,
      iterations: [
        {
          type: "message",
          input_tokens: 1000,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 100,
        },
        {
          type: "message",
          input_tokens: 2000,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 500,
          output_tokens: 200,
        },
      ],
    }),
  ),
  {
    ...answered,
    tokens: { prompt: 3000, cache_read: 500, cache_write: 0, cache_write_1h: 0, completion: 300 },
    cost: RATES.haiku45,
  },
  { source: DOCUMENTS.anthropicIterations, path: "/v1/messages?beta=true" },
);

api.add("count-tokens-is-free", "Counting tokens is free: no record.", json({ input_tokens: 2095 }), null, {
  path: "/v1/messages/count_tokens",
  source: DOCUMENTS.anthropicCountTokens,
});

const failure = (type: string, text: string, more: object = {}) =>
  ({ type: "error", error: { type, message: text, ...more }, request_id: "req_011C" }) as const;

const errors: readonly (readonly [
  name: string,
  about: string,
  status: number,
  body: unknown,
  error: readonly [string, boolean | null, string | null],
])[] = [
  [
    "error-invalid-request",
    "A request that is wrong.",
    400,
    failure("invalid_request_error", "max_tokens: required"),
    ["bad_request", false, "invalid_request_error"],
  ],
  [
    "error-credit-balance",
    "An empty balance comes as a 400: it is billing.",
    400,
    failure(
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    ["auth", false, "invalid_request_error"],
  ],
  [
    "error-spend-limit",
    "A spend limit that was reached comes as a 400: it is billing.",
    400,
    failure(
      "invalid_request_error",
      "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    ),
    ["auth", false, "invalid_request_error"],
  ],
  [
    "error-authentication",
    "A wrong key.",
    401,
    failure("authentication_error", "invalid x-api-key"),
    ["auth", false, "authentication_error"],
  ],
  [
    "error-billing",
    "Billing.",
    402,
    failure("billing_error", "There is an issue with your billing or payment information."),
    ["auth", false, "billing_error"],
  ],
  [
    "error-permission",
    "A key without the right.",
    403,
    failure("permission_error", "Your API key does not have permission to use the specified resource."),
    ["auth", false, "permission_error"],
  ],
  [
    "error-not-found",
    "A model that is not there.",
    404,
    failure("not_found_error", "model: claude-haiku-9"),
    ["bad_request", false, "not_found_error"],
  ],
  [
    "error-conflict",
    "A conflict may be gone at the next try.",
    409,
    failure("conflict_error", "Conflict"),
    ["bad_request", true, "conflict_error"],
  ],
  [
    "error-too-large",
    "A request that is too large.",
    413,
    failure("request_too_large", "Request exceeds the maximum size"),
    ["bad_request", false, "request_too_large"],
  ],
  [
    "error-rate-limit",
    "A rate limit passes.",
    429,
    failure(
      "rate_limit_error",
      "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
    ),
    ["rate_limit", true, "rate_limit_error"],
  ],
  [
    "error-enforced-spend-limit",
    "A 429 that never passes: its details name a spend limit.",
    429,
    failure("rate_limit_error", "Spend limit reached", {
      details: { error_code: "enforced_spend_limit_reached" },
    }),
    ["auth", false, "enforced_spend_limit_reached"],
  ],
  [
    "error-api",
    "The provider's own fault.",
    500,
    failure("api_error", "Internal server error"),
    ["server_error", true, "api_error"],
  ],
  [
    "error-timeout",
    "The provider ran out of time.",
    504,
    failure("timeout_error", "Request timed out"),
    ["timeout", true, "timeout_error"],
  ],
  [
    "error-overloaded",
    "Overloaded: 529.",
    529,
    failure("overloaded_error", "Overloaded"),
    ["server_error", true, "overloaded_error"],
  ],
];
for (const [name, about, status, errorBody, error] of errors) {
  api.add(
    name,
    about,
    json(errorBody, {
      status,
      headers: [
        ["Content-Type", "application/json"],
        ["request-id", "req_011C"],
      ],
    }),
    { model: "claude-haiku-4-5", error },
    { source: DOCUMENTS.anthropicErrors },
  );
}

api.add(
  "error-html-page",
  "A gateway's page instead of JSON.",
  raw(["<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>\r\n"], {
    status: 502,
    headers: [["Content-Type", "text/html"]],
  }),
  { model: "claude-haiku-4-5", error: ["server_error", true, null] },
  { source: DOCUMENTS.anthropicErrors },
);
