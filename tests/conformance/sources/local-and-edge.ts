import { defineApi, type WireCase } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { json, namedSse, sse } from "./wire.ts";

/** Servers on this machine with their own API, and Workers AI's. */

const LM_MODEL = "openai/gpt-oss-20b";
const messages = [{ role: "user", content: "Why is rain wet?" }];

const lmstudio = defineApi({
  folder: "local-servers",
  provider: "lmstudio",
  free: true,
  scheme: "http",
  host: "localhost",
  port: 1234,
  path: "/api/v1/chat",
  request: { model: LM_MODEL, input: "Why is rain wet?" },
  source: DOCUMENTS.lmstudio,
  id: "resp_lm1",
});
const chatted = {
  model_instance_id: LM_MODEL,
  output: [
    { type: "reasoning", content: "Why." },
    { type: "message", content: "Water." },
  ],
  stats: {
    input_tokens: 359,
    total_output_tokens: 218,
    reasoning_output_tokens: 24,
    tokens_per_second: 41.1,
    time_to_first_token_seconds: 1.367,
  },
  response_id: "resp_lm1",
};
const chattedTokens = { prompt: 359, completion: 194, thinking: 24 };
lmstudio.add(
  "lmstudio-chat",
  "LM Studio's own API: total_output_tokens includes the reasoning.",
  json(chatted),
  { tokens: chattedTokens },
);
lmstudio.add(
  "lmstudio-chat-stream",
  "The last event repeats the whole response.",
  namedSse([
    { type: "chat.start", model_instance_id: LM_MODEL },
    { type: "prompt_processing.progress", progress: 0.5 },
    { type: "reasoning.delta", content: "Why." },
    { type: "message.delta", content: "Water." },
    { type: "chat.end", result: chatted },
  ]),
  { tokens: chattedTokens },
  { request: { stream: true }, source: DOCUMENTS.lmstudioStream },
);
lmstudio.add(
  "lmstudio-chat-stream-cut",
  "A stream that ends before its last event states nothing.",
  namedSse([
    { type: "chat.start", model_instance_id: LM_MODEL },
    { type: "message.delta", content: "Water." },
  ]),
  { id: null },
  { request: { stream: true }, source: DOCUMENTS.lmstudioStream },
);
const v0 = {
  id: "chatcmpl-lm0",
  object: "chat.completion",
  created: 1731990317,
  model: "granite-3.0-2b-instruct",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Water." } }],
  usage: { prompt_tokens: 24, completion_tokens: 53, total_tokens: 77 },
  stats: {
    tokens_per_second: 51.4,
    time_to_first_token: 0.111,
    generation_time: 0.954,
    stop_reason: "eosFound",
  },
};
lmstudio.add(
  "lmstudio-v0-chat",
  "The older API has the form of Chat Completions.",
  json(v0),
  { id: "chatcmpl-lm0", tokens: { prompt: 24, completion: 53 } },
  {
    path: "/api/v0/chat/completions",
    request: { model: "granite-3.0-2b-instruct", input: undefined, messages },
    source: DOCUMENTS.lmstudioV0,
  },
);
lmstudio.add(
  "lmstudio-v0-completions",
  "And that of Completions.",
  json({ ...v0, id: "cmpl-lm0", object: "text_completion" }),
  { id: "cmpl-lm0", tokens: { prompt: 24, completion: 53 } },
  {
    path: "/api/v0/completions",
    request: { model: "granite-3.0-2b-instruct", input: undefined, prompt: "Rain is" },
    source: DOCUMENTS.lmstudioV0,
  },
);
lmstudio.add(
  "lmstudio-v0-embeddings",
  "And that of Embeddings, with the zeros that the document shows.",
  json({
    object: "list",
    data: [],
    model: "nomic-embed-text-v1.5@q4_k_m",
    usage: { prompt_tokens: 0, total_tokens: 0 },
  }),
  { id: null, model: "nomic-embed-text-v1.5@q4_k_m", tokens: { prompt: 0, completion: 0 } },
  {
    path: "/api/v0/embeddings",
    request: { model: "nomic-embed-text-v1.5", input: "rain" },
    source: DOCUMENTS.lmstudioV0,
  },
);

const llama = defineApi({
  folder: "local-servers",
  provider: "llama-cpp",
  free: true,
  scheme: "http",
  host: "127.0.0.1",
  port: 8080,
  path: "/completion",
  request: { prompt: "Rain is", n_predict: 51 },
  source: DOCUMENTS.llamaCpp,
  id: null,
});
const completed = (evaluated: number, predicted: number, cached: number, more: object = {}) => ({
  index: 0,
  content: " wet.",
  tokens: [],
  id_slot: 0,
  stop: true,
  model: "gemma-3",
  tokens_predicted: predicted,
  tokens_evaluated: evaluated,
  generation_settings: { n_predict: 51 },
  prompt: "<bos>Rain is",
  has_new_line: false,
  truncated: false,
  stop_type: "eos",
  stopping_word: "",
  tokens_cached: evaluated + predicted - 1,
  timings: { cache_n: cached, prompt_n: evaluated - cached, predicted_n: predicted, predicted_ms: 2310.6 },
  ...more,
});
const partial = (content: string, predicted: number) => ({
  index: 0,
  content,
  tokens: [101],
  stop: false,
  id_slot: 0,
  tokens_predicted: predicted,
  tokens_evaluated: 12,
});
llama.add(
  "llama-cpp-completion",
  "tokens_evaluated is the whole prompt, of which timings.cache_n came from the cache; tokens_cached is the state of the slot.",
  json(completed(12, 51, 8)),
  { model: "gemma-3", requestedModel: null, tokens: { prompt: 4, cache_read: 8, completion: 51 } },
);
llama.add(
  "llama-cpp-completion-without-timings",
  "Older servers state no cached part.",
  json(completed(12, 51, 0, { timings: { prompt_n: 12, predicted_n: 51 } })),
  { model: "gemma-3", requestedModel: null, tokens: { prompt: 12, completion: 51 } },
);
llama.add(
  "llama-cpp-completion-stream",
  "Every part of a stream states the counts so far; the last one has stop.",
  sse([partial(" wet", 1), partial(".", 2), completed(12, 2, 0, { content: "" })]),
  {
    model: "gemma-3",
    requestedModel: null,
    tokens: { prompt: 12, cache_read: 0, completion: 2 },
  },
  { request: { stream: true } },
);
llama.add(
  "llama-cpp-completion-stream-cut",
  "A stream that the client left: the counts so far.",
  sse([partial(" wet", 1), partial(".", 2)]),
  { model: "unknown", requestedModel: null, tokens: { prompt: 12, completion: 2 }, complete: false },
  { request: { stream: true } },
);
llama.add(
  "llama-cpp-completion-prompts",
  "Several prompts in one request are answered as an array, whose counts add up.",
  json([completed(12, 51, 8), completed(10, 7, 0, { index: 1 })]),
  {
    model: "gemma-3",
    requestedModel: null,
    tokens: { prompt: 14, cache_read: 8, completion: 58 },
  },
  { request: { prompt: ["Rain is", "Snow is"] } },
);
llama.add(
  "llama-cpp-infill",
  "Code infilling answers as a completion does.",
  json(completed(12, 5, 0)),
  { model: "gemma-3", requestedModel: null, tokens: { prompt: 12, cache_read: 0, completion: 5 } },
  { path: "/infill", request: { prompt: undefined, input_prefix: "a", input_suffix: "b" } },
);
llama.add(
  "compatible-completions-at-root",
  "Another server on this port answers the same path with OpenAI's usage.",
  json({
    id: "cmpl-root",
    object: "text_completion",
    model: "acme-local",
    choices: [{ index: 0, text: " wet.", finish_reason: "stop" }],
    usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
  }),
  { id: "cmpl-root", tokens: { prompt: 12, completion: 5 } },
  { path: "/completions", request: { model: "acme-local" }, source: DOCUMENTS.openaiChat },
);

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const workers = defineApi({
  folder: "workers-ai",
  provider: "cloudflare-workers-ai",
  host: "api.cloudflare.com",
  path: `/client/v4/accounts/acc/ai/run/${LLAMA}`,
  pathModel: LLAMA,
  request: { messages },
  source: DOCUMENTS.workersAi,
  id: null,
});
const usage = { prompt_tokens: 26, completion_tokens: 39, total_tokens: 65 };
const envelope = (result: unknown) => ({ result, success: true, errors: [], messages: [] });
const llamaRates = { input: "0.293", output: "2.253" };
workers.add(
  "json",
  "The result has the usage, and the path the model.",
  json(envelope({ response: "Water.", tool_calls: [], usage })),
  { tokens: { prompt: 26, completion: 39 }, cost: llamaRates },
);
workers.add(
  "stream",
  "A stream states usage in its last event, without the envelope.",
  sse([{ response: "Wa" }, { response: "ter." }, { response: "", usage }, "[DONE]"]),
  { tokens: { prompt: 26, completion: 39 }, cost: llamaRates },
  { request: { stream: true } },
);
workers.add(
  "stream-without-usage",
  "A stream without usage: unknown, not 0.",
  sse([{ response: "Water." }, "[DONE]"]),
  {},
  { request: { stream: true } },
);
workers.add(
  "through-the-gateway",
  "Cloudflare's AI Gateway has the same API below the name of the provider.",
  json(envelope({ response: "Water.", usage })),
  { tokens: { prompt: 26, completion: 39 }, cost: llamaRates },
  { host: "gateway.ai.cloudflare.com", path: `/v1/acc/gw/workers-ai/${LLAMA}` },
);
workers.add(
  "responses-form",
  "Some models answer in the form of Responses.",
  json(
    envelope({
      id: "resp_cf1",
      object: "response",
      model: "@cf/openai/gpt-oss-120b",
      output: [],
      usage: { input_tokens: 26, output_tokens: 39, total_tokens: 65 },
    }),
  ),
  {
    id: "resp_cf1",
    model: "@cf/openai/gpt-oss-120b",
    requestedModel: "@cf/openai/gpt-oss-120b",
    tokens: { prompt: 26, completion: 39 },
    cost: { input: "0.35", output: "0.75" },
  },
  {
    path: "/client/v4/accounts/acc/ai/run/@cf/openai/gpt-oss-120b",
    request: { messages: undefined, input: "x" },
  },
);
workers.add(
  "embedding-without-usage",
  "A response without usage, such as an embedding's: seen, with unknown counts.",
  json(envelope({ shape: [1, 1024], data: [[0.1]], pooling: "cls" })),
  { model: "@cf/baai/bge-m3", requestedModel: "@cf/baai/bge-m3" },
  {
    path: "/client/v4/accounts/acc/ai/run/%40cf/baai/bge-m3",
    request: { messages: undefined, text: ["rain"] },
  },
);

export const localAndEdge: readonly WireCase[] = [...lmstudio.cases, ...llama.cases, ...workers.cases];
