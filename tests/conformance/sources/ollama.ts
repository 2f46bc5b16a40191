import { type ApiSpec, defineApi, requestBytes } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { bytesOf, json, ndjson } from "./wire.ts";

const spec: ApiSpec = {
  folder: "ollama",
  provider: "ollama",
  host: "localhost",
  port: 11434,
  scheme: "http",
  path: "/api/chat",
  request: { model: "llama3.2", messages: [{ role: "user", content: "Why is rain wet?" }] },
  source: DOCUMENTS.ollama,
  id: null,
  free: true,
};
const api = defineApi(spec);
export const ollama = api.cases;

const line = (more: object) => ({ model: "llama3.2", created_at: "2026-11-21T12:00:00.000000Z", ...more });
const piece = (content: string) => line({ message: { role: "assistant", content }, done: false });
const done = (more: object) =>
  line({
    message: { role: "assistant", content: "" },
    done_reason: "stop",
    done: true,
    total_duration: 4883583458,
    load_duration: 1334875,
    prompt_eval_duration: 342546000,
    eval_duration: 4535599000,
    ...more,
  });
const answered = { streaming: true };

const stream = ndjson([piece("Wa"), piece("ter."), done({ prompt_eval_count: 26, eval_count: 282 })]);
api.add("stream", "A stream unless told otherwise: lines of JSON, the last one with the counts.", stream, {
  ...answered,
  tokens: { prompt: 26, completion: 282 },
});
api.add(
  "stream-cut",
  "Cut before the last line: nothing is known.",
  { ...stream, cutAt: bytesOf(stream, 2) + 9 },
  { ...answered, error: ["network", true, null] },
);
api.add(
  "json-cached",
  "prompt_eval_cached_count is a part of prompt_eval_count.",
  json(done({ prompt_eval_count: 500, prompt_eval_cached_count: 450, eval_count: 20 })),
  { tokens: { prompt: 50, cache_read: 450, completion: 20 } },
  { request: { stream: false } },
);
api.add(
  "json-prompt-count-absent",
  "Older servers leave the prompt's count out when it came from their cache: unknown, not 0.",
  json(done({ eval_count: 20 })),
  { tokens: { completion: 20 }, complete: false },
  { request: { stream: false } },
);
api.add(
  "generate",
  "/api/generate has the same counts; its context is a long list of numbers.",
  ndjson([
    line({ response: "Water.", done: false }),
    line({
      response: "",
      done: true,
      done_reason: "stop",
      context: [1, 2, 3],
      prompt_eval_count: 9,
      eval_count: 4,
    }),
  ]),
  { ...answered, tokens: { prompt: 9, completion: 4 } },
  { path: "/api/generate", request: { messages: undefined, prompt: "rain" } },
);
api.add(
  "load-only",
  "A request that only loads the model has no tokens.",
  json(line({ message: { role: "assistant", content: "" }, done_reason: "load", done: true })),
  { ...answered, tokens: { prompt: 0, completion: 0 } },
  { request: { messages: [] } },
);
api.add(
  "embed",
  "Embeddings have input alone.",
  json({
    model: "all-minilm",
    embeddings: [[0.01]],
    total_duration: 14143917,
    load_duration: 1019500,
    prompt_eval_count: 8,
  }),
  { model: "all-minilm", tokens: { prompt: 8, completion: 0 } },
  { path: "/api/embed", request: { model: "all-minilm", messages: undefined, input: "rain" } },
);
api.add(
  "openai-shape",
  "The compatible API under /v1.",
  json({
    id: "chatcmpl-1",
    object: "chat.completion",
    model: "llama3.2",
    choices: [],
    usage: { prompt_tokens: 26, completion_tokens: 3, total_tokens: 29 },
  }),
  { id: "chatcmpl-1", tokens: { prompt: 26, completion: 3 } },
  { path: "/v1/chat/completions" },
);
api.add(
  "error-text",
  "The error is a text.",
  json({ error: 'model "llama9" not found, try pulling it first' }, { status: 404 }),
  { ...answered, error: ["bad_request", false, null] },
);
api.add(
  "error-line",
  "An error as the last line of a stream.",
  ndjson([piece("Wa"), { error: "llama runner process no longer running" }]),
  { ...answered, error: ["unknown", null, null] },
);
api.add("tags-is-free", "Listing models is free.", json({ models: [] }), null, {
  method: "GET",
  path: "/api/tags",
});

api.addBytes(
  "server-not-running",
  "The server is not there: network, worth a retry.",
  { request: requestBytes(spec), response: new Uint8Array() },
  { ...answered, status: null, error: ["network", true, null] },
  { ended: "upstream_unreachable" },
);
