import { defineApi, type WireCase } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { json, namedSse } from "./wire.ts";

/** Paths beside a provider's main APIs whose responses state usage. */

const azureProject = defineApi({
  folder: "azure-foundry",
  provider: "azure",
  host: "acme.services.ai.azure.com",
  path: "/api/projects/rain/openai/v1/responses",
  request: { model: "gpt-5", input: "Why is rain wet?" },
  source: DOCUMENTS.openaiResponses,
  id: "resp_0123456789abcdef0123",
});
azureProject.add(
  "project-responses",
  "A Foundry project has OpenAI's Responses below its own path.",
  json({
    id: "resp_0123456789abcdef0123",
    object: "response",
    status: "completed",
    model: "gpt-5-2025-08-07",
    output: [],
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 30,
      output_tokens_details: { reasoning_tokens: 10 },
      total_tokens: 50,
    },
  }),
  {
    model: "gpt-5-2025-08-07",
    tokens: { prompt: 20, cache_read: 0, completion: 20, thinking: 10 },
    cost: RATES.gpt5,
  },
);

const xaiBatches = defineApi({
  folder: "xai-batches",
  provider: "xai",
  host: "api.x.ai",
  method: "GET",
  path: "/v1/batches/batch_1/results",
  request: {},
  source: DOCUMENTS.xaiBatches,
});
xaiBatches.add(
  "results",
  "Each result is a chat completion with its own cost; a failed request is not billed.",
  json({
    results: [
      {
        batch_request_id: "one",
        batch_result: {
          response: {
            chat_get_completion: {
              id: "0daf962f-a275-4a3c-839a-047854645532",
              object: "chat.completion",
              model: "grok-4.5",
              choices: [
                { index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" },
              ],
              usage: {
                prompt_tokens: 40,
                completion_tokens: 9,
                total_tokens: 49,
                cost_in_usd_ticks: 670000,
              },
            },
          },
        },
      },
      { batch_request_id: "two", batch_result: { error: { code: 3, message: "no such model" } } },
    ],
    pagination_token: null,
  }),
  {
    model: "grok-4.5",
    requestedModel: null,
    id: "0daf962f-a275-4a3c-839a-047854645532",
    tier: "batch",
    tokens: { prompt: 40, completion: 9 },
    providerCost: "67000000",
    cost: "provider",
  },
);

const conversations = defineApi({
  folder: "mistral-conversations",
  provider: "mistral",
  host: "api.mistral.ai",
  path: "/v1/conversations",
  request: { model: "mistral-large-2512", inputs: "Why is rain wet?" },
  source: DOCUMENTS.mistralConversations,
  id: null,
});
conversations.add(
  "json",
  "A new conversation is a run of the model.",
  json({
    object: "conversation.response",
    conversation_id: "conv_0684fe18ba9d7ad88000",
    outputs: [{ type: "message.output", content: "Water.", model: "mistral-large-2512", role: "assistant" }],
    usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
  }),
  { tokens: { prompt: 12, completion: 5 }, cost: RATES.mistralLarge },
);
conversations.add(
  "connectors",
  "The tokens of the connectors are on top of the prompt's, and each call of one has its own price.",
  json({
    object: "conversation.response",
    conversation_id: "conv_0684fe18ba9d7ad88000",
    outputs: [
      { type: "tool.execution", name: "web_search" },
      { type: "message.output", content: "Water.", model: "mistral-large-2512", role: "assistant" },
    ],
    usage: {
      prompt_tokens: 188,
      completion_tokens: 55,
      total_tokens: 7355,
      connector_tokens: 7112,
      connectors: { web_search: 1 },
    },
  }),
  {
    model: "mistral-large-2512",
    tokens: { prompt: 7300, completion: 55 },
    extras: { web_search_requests: 1 },
    cost: [
      ["input", 7300, "0.5"],
      ["output", 55, "1.5"],
      ["web search", 1, "30000"],
    ],
  },
  {
    path: "/v1/conversations/conv_0684fe18ba9d7ad88000",
    request: { model: undefined },
    source: DOCUMENTS.mistralConnectors,
  },
);
conversations.add(
  "stream",
  "The last event of a stream has the usage; the events of the message name the model.",
  namedSse([
    { type: "conversation.response.started", conversation_id: "conv_0684fe18ba9d7ad88000" } as {
      type: string;
    },
    { type: "message.output.delta", model: "mistral-large-2512", content: "Water." } as { type: string },
    {
      type: "conversation.response.done",
      usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17, connector_tokens: null },
    } as { type: string },
  ]),
  { tokens: { prompt: 12, completion: 5 }, cost: RATES.mistralLarge },
  { request: { stream: true } },
);
conversations.add(
  "moderations",
  "Moderations are billed by the tokens of their input; a model without a bundled price is unpriced.",
  json({
    id: "4d71ae510af942108ef7344f903e2b88",
    model: "mistral-moderation-2411",
    results: [{ categories: {}, category_scores: {} }],
    usage: { prompt_tokens: 9, total_tokens: 9, completion_tokens: 0 },
  }),
  {
    model: "mistral-moderation-2411",
    requestedModel: "mistral-moderation-latest",
    id: "4d71ae510af942108ef7344f903e2b88",
    tokens: { prompt: 9, completion: 0 },
  },
  {
    path: "/v1/moderations",
    request: { model: "mistral-moderation-latest", inputs: undefined, input: "rain" },
    source: DOCUMENTS.mistralModeration,
  },
);
conversations.add(
  "classifications-without-usage",
  "A response that states no usage is metered with unknown tokens.",
  json({ id: "b5f0e3a97a3c4fd5a1b6", model: "my-classifier", results: [] }),
  { model: "my-classifier", id: "b5f0e3a97a3c4fd5a1b6" },
  {
    path: "/v1/classifications",
    request: { model: "my-classifier", inputs: undefined, input: "rain" },
    source: DOCUMENTS.mistralModeration,
  },
);

/** The cases of these paths. */
export const otherPaths: readonly WireCase[] = [
  ...azureProject.cases,
  ...xaiBatches.cases,
  ...conversations.cases,
];
