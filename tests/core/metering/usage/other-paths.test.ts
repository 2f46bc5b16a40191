import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countsOf, NO_COUNTS, readAnswer, sse } from "./answers.rig.ts";

const VERTEX = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1";

describe("a response that states no usage where it could", () => {
  const table: Record<string, object> = {
    "https://api.together.xyz/v1/rerank": { model: "m", results: [] },
    "https://api.mistral.ai/v1/conversations": { conversation_id: "c", outputs: [{ model: "m" }] },
    "https://api.mistral.ai/v1/moderations": { model: "m", results: [] },
    "https://api.openai.com/v1/threads/t/runs": { object: "thread.run", model: "m", usage: null },
    "https://api.openai.com/v1/evals/e/runs": { object: "eval.run", per_model_usage: null },
    "https://api.anthropic.com/v1/dreams": { model: { id: "m" }, status: "pending" },
    "https://api.perplexity.ai/search": { id: "s", results: [] },
    "https://api.cohere.com/v1/classify": { classifications: [] },
    "https://bedrock-runtime.us-east-1.amazonaws.com/guardrail/g/version/1/apply": { action: "NONE" },
    [`${VERTEX}/publishers/ai21/models/jamba:rawPredict`]: { model: "m" },
    [`${VERTEX}/endpoints/1:predict`]: { predictions: [] },
  };
  for (const [url, body] of Object.entries(table))
    it(`is incomplete and has no counts: ${url}`, () => {
      const found = readAnswer(url, JSON.stringify(body));
      assert.deepEqual(countsOf(found), NO_COUNTS);
      assert.deepEqual([found.tokensComplete, found.extras], [false, extrasOf(url)]);
      assert.equal(found.noRecord, undefined, "it makes a record");
    });

  const extrasOf = (url: string) => (url.startsWith(VERTEX) ? { regional_endpoint: 1 } : {});
});

describe("anyModel", () => {
  it("reads a stream of Anthropic's events from a partner's model", () => {
    const events = sse(
      {
        type: "message_start",
        message: { id: "msg_1", model: "c", usage: { input_tokens: 9, output_tokens: 1 } },
      },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
    );
    const found = readAnswer(`${VERTEX}/publishers/x/models/c:streamRawPredict`, events);
    assert.deepEqual(countsOf(found), [9, 0, 0, 0, 5, null]);
    assert.deepEqual([found.model, found.responseId, found.tokensComplete], ["c", "msg_1", true]);
  });

  it("reads the last chunk of a stream of Chat Completions", () => {
    const events = sse(
      { id: "c1", model: "m", choices: [{ delta: {} }] },
      {
        id: "c1",
        model: "m",
        choices: [],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      },
      "[DONE]",
    );
    const found = readAnswer(`${VERTEX}/endpoints/1:streamRawPredict`, events);
    assert.deepEqual(countsOf(found).slice(0, 5), [3, null, null, null, 2]);
  });

  it("keeps a usage object of an unknown API as unknown usage", () => {
    const body = JSON.stringify({ model: "m", usage: { characters: 12 } });
    const found = readAnswer(`${VERTEX}/endpoints/1:rawPredict`, body);
    assert.deepEqual([countsOf(found), found.tokensComplete], [NO_COUNTS, false]);
    assert.deepEqual([found.model, found.unknownUsage], ["m", '{"characters":12}']);
  });
});

describe("mistralConversations", () => {
  it("takes the model of the first output that names one", () => {
    const modelOf = (...outputs: readonly object[]) => {
      const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
      const body = JSON.stringify({ conversation_id: "c", outputs, usage });
      return readAnswer("https://api.mistral.ai/v1/conversations", body).model;
    };
    const tool = { type: "tool.execution", name: "web_search" };
    assert.equal(modelOf(tool, { type: "message.output", model: "m" }), "m");
    assert.equal(modelOf(tool), null);
  });
});

describe("openaiRuns", () => {
  const fetches: Record<string, object> = {
    "https://api.openai.com/v1/threads/t/runs/run_1/cancel": {
      object: "thread.run",
      id: "run_1",
      usage: null,
    },
    "https://api.openai.com/v1/evals/e/runs/run_1": { object: "eval.run", id: "run_1", status: "canceled" },
  };
  for (const [url, body] of Object.entries(fetches))
    it(`makes no record of a run that is fetched without usage: ${url}`, () => {
      const found = readAnswer(url, JSON.stringify(body));
      assert.deepEqual(
        [found.noRecord, found.startsJob, found.responseId, found.tokensComplete],
        ["unfinished", undefined, "run_1", false],
      );
      const truncated = readAnswer(url, JSON.stringify(body).slice(0, 4), { complete: false });
      assert.deepEqual([truncated.noRecord, truncated.responseId], ["unfinished", "run_1"]);
    });
});

describe("otherUnits", () => {
  it("reads the tokens of a batch that states them, with the cost", () => {
    const usage = { prompt_tokens: 30, completion_tokens: 6, total_tokens: 36, cost: 0.01 };
    const found = readAnswer(
      "https://openrouter.ai/api/v1/batches",
      JSON.stringify({ id: "batch_1", model: "x/y", status: "completed", usage }),
    );
    assert.deepEqual(countsOf(found).slice(0, 5), [30, null, null, null, 6]);
    assert.equal(found.providerCostPicoUsd, 10_000_000_000n);
  });

  it("ignores invalid durations and costs", () => {
    const body = { id: "v", status: "completed", seconds: "-8", outputs: { cost: -1 } };
    const found = readAnswer("https://api.together.xyz/v2/videos", JSON.stringify(body));
    assert.deepEqual([found.extras, found.providerCostPicoUsd, found.tokensComplete], [{}, null, false]);
  });
});
