import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countsOf, readAnswer, sse } from "./answers.rig.ts";

const watsonx = "https://us-south.ml.cloud.ibm.com/ml/v1/text/generation";
const oci = "https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/20231130/actions/embedText";
const fal = "https://fal.run/acme/video";
const served = "https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/e/invocations";
const vercel = "https://ai-gateway.vercel.sh/v1/ai/language-model";

describe("watsonx.text", () => {
  const result = (input: unknown, output: unknown) => ({
    input_token_count: input,
    generated_token_count: output,
  });

  it("adds up the results, and keeps the largest counts of a stream", () => {
    const whole = JSON.stringify({ model_id: "m", results: [result(3, 4), result(5, 6)] });
    assert.deepEqual(countsOf(readAnswer(watsonx, whole)), [8, null, null, null, 10, null]);
    const stream = sse({ model_id: "m" }, { results: [result(8, 1)] }, { results: [result(0, 9)] }, {});
    assert.deepEqual(countsOf(readAnswer(watsonx, stream)), [8, null, null, null, 9, null]);
  });

  it("leaves counts unknown that are not stated, or too large", () => {
    for (const results of [undefined, [], [{}], [result(2 ** 40, 2 ** 40), result(2 ** 40, 2 ** 40)]]) {
      const report = readAnswer(watsonx, JSON.stringify({ model_id: "m", results }));
      assert.deepEqual([countsOf(report), report.tokensComplete], [Array(6).fill(null), false]);
    }
  });
});

describe("oci.inference", () => {
  it("reads the output of an embedding as 0 only if the total shows it", () => {
    const read = (usage: object) => {
      const report = readAnswer(oci, JSON.stringify({ modelId: "m", embeddings: [[1]], usage }));
      return [report.tokens.promptTokens, report.tokens.completionTokens, report.tokensComplete];
    };
    assert.deepEqual(read({ promptTokens: 7, totalTokens: 7 }), [7, 0, true]);
    assert.deepEqual(read({ promptTokens: 7 }), [7, null, false]);
    assert.deepEqual(read({}), [null, null, false]);
  });
});

describe("units.stated", () => {
  it("reads only units that are positive numbers", () => {
    for (const metrics of [{ predict_time: 0 }, { predict_time: "x" }, { predict_time: -1 }, "none"]) {
      const report = readAnswer(fal, JSON.stringify({ status: "succeeded", metrics }));
      assert.deepEqual([report.extras, report.tokensComplete], [{}, false]);
    }
  });

  it("reads durations as strings, and a stream without units", () => {
    const report = readAnswer(fal, JSON.stringify({ metadata: { duration: "2.5" } }));
    assert.deepEqual(report.extras, { audio_milliseconds: 2500 });
    assert.equal(readAnswer(fal, sse({ progress: 1 }, { progress: 2 })).tokensComplete, false);
  });
});

describe("llama.completion", () => {
  const url = "http://localhost:8080/completion";
  const done = (input: unknown, output: unknown, more: object = {}) => ({
    stop: true,
    model: "m",
    tokens_evaluated: input,
    tokens_predicted: output,
    ...more,
  });
  const read = (...prompts: object[]) => {
    const report = readAnswer(url, JSON.stringify(prompts));
    return [countsOf(report), report.tokensComplete];
  };

  it("adds up prompts, some of which state a cached part", () => {
    assert.deepEqual(read(done(9, 4, { timings: { cache_n: 2 } }), done(3, 1)), [
      [10, 2, null, null, 5, null],
      true,
    ]);
    assert.deepEqual(read(done(9, 4), done(3, 1)), [[12, null, null, null, 5, null], true]);
  });

  it("is incomplete if more came from the cache than was evaluated", () => {
    assert.deepEqual(read(done(9, 4, { timings: { cache_n: 20 } })), [[0, 9, null, null, 4, null], false]);
  });

  it("leaves counts unknown that are not stated, or too large", () => {
    const unknown = [Array(6).fill(null), false];
    assert.deepEqual(read({ stop: true }), unknown);
    assert.deepEqual(read(done("9", 4)), unknown);
    assert.deepEqual(read(done(9, null)), unknown);
    assert.deepEqual(read(done(2 ** 40, 1), done(2 ** 40, 1)), unknown);
    assert.deepEqual(read(done(1, 2 ** 40), done(1, 2 ** 40)), unknown);
  });
});

describe("lmstudio.chat", () => {
  it("keeps members of the statistics that it does not know, and is incomplete if a part exceeds its whole", () => {
    const stats = { input_tokens: 5, total_output_tokens: 3, reasoning_output_tokens: 4, draft_tokens: 2 };
    const report = readAnswer("http://localhost:1234/api/v1/chat", JSON.stringify({ stats }));
    assert.deepEqual(countsOf(report), [5, null, null, null, 0, 3]);
    assert.deepEqual([report.tokensComplete, report.unknownUsage], [false, '{"draft_tokens":2}']);
  });
});

describe("openai.served", () => {
  it("makes a record only if the response states usage", () => {
    assert.equal(readAnswer(served, '{"predictions":[1]}').noRecord, "no_usage");
    const chat = readAnswer(
      served,
      '{"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}',
    );
    assert.deepEqual([chat.noRecord, chat.tokens.promptTokens], [undefined, 3]);
  });
});

describe("vercel.language_model", () => {
  it("ignores an invalid price", () => {
    for (const cost of ["-1", "x", 1, undefined]) {
      const body = { usage: { inputTokens: 1, outputTokens: 2 }, providerMetadata: { gateway: { cost } } };
      assert.equal(readAnswer(vercel, JSON.stringify(body)).providerCostPicoUsd, null);
    }
  });

  it("is incomplete without usage", () => {
    const report = readAnswer(vercel, sse({ type: "text-delta", delta: "x" }));
    assert.deepEqual([countsOf(report), report.tokensComplete], [Array(6).fill(null), false]);
  });
});
