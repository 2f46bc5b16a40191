import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { json, namedSse } from "./wire.ts";

const api = defineApi({
  folder: "cohere",
  provider: "cohere",
  host: "api.cohere.com",
  path: "/v2/chat",
  request: { model: "command-r-08-2024", messages: [{ role: "user", content: "Why is rain wet?" }] },
  source: DOCUMENTS.cohere,
  id: "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
});
export const cohere = api.cases;

const usage = {
  billed_units: { input_tokens: 5, output_tokens: 418 },
  tokens: { input_tokens: 71, output_tokens: 418 },
  cached_tokens: 32,
};
const tokens = { prompt: 5, completion: 418 };
api.add(
  "chat",
  "billed_units is what is billed; the tokens that were processed are more.",
  json({
    id: "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
    message: { role: "assistant", content: [{ type: "text", text: "Water." }] },
    finish_reason: "COMPLETE",
    usage,
  }),
  { tokens, cost: RATES.commandR },
);
api.add(
  "chat-stream",
  "A stream states usage in message-end, inside delta.",
  namedSse([
    {
      id: "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
      type: "message-start",
      delta: { message: { role: "assistant" } },
    } as { type: string },
    { type: "content-delta", index: 0, delta: { message: { content: { text: "Water." } } } } as {
      type: string;
    },
    { type: "message-end", delta: { finish_reason: "COMPLETE", usage } } as { type: string },
  ]),
  { tokens, cost: RATES.commandR },
  { request: { stream: true } },
);
api.add(
  "embed",
  "Embeddings: input alone, in meta.",
  json({
    id: "da6e531f-54c5-4a73-bf92-f60566d8d753",
    embeddings: { float: [[0.01]] },
    texts: ["rain"],
    meta: { api_version: { version: "2" }, billed_units: { input_tokens: 12 } },
  }),
  {
    model: "embed-v4.0",
    id: "da6e531f-54c5-4a73-bf92-f60566d8d753",
    tokens: { prompt: 12, completion: 0 },
    cost: RATES.cohereEmbed,
  },
  { path: "/v2/embed", request: { model: "embed-v4.0", messages: undefined, texts: ["rain"] } },
);
api.add(
  "rerank",
  "A rerank is billed by the search: no tokens.",
  json({
    id: "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
    results: [{ index: 0, relevance_score: 0.99 }],
    meta: { billed_units: { search_units: 1 } },
  }),
  {
    model: "rerank-v3.5",
    id: "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
    complete: true,
    extras: { search_units: 1 },
    cost: [["search units", 1, "2000"]],
  },
  {
    path: "/v2/rerank",
    request: { model: "rerank-v3.5", messages: undefined, query: "rain", documents: ["a"] },
  },
);
