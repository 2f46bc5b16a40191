import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TokenCounter } from "../../../core/ports/token-counter.ts";
import { call, createCaptureRig } from "./capture.rig.ts";

/** Counts words, and records the models. */
function createWordCounter(): TokenCounter & { models: string[] } {
  const models: string[] = [];
  return {
    models,
    count: (texts, model) => {
      models.push(model);
      return Promise.resolve(texts.join(" ").split(/\s+/).filter(Boolean).length);
    },
  };
}

const request = {
  path: "/v1/chat/completions",
  body: { model: "gpt-5-mini", stream: true, messages: [{ role: "user", content: "one two three" }] },
};
const chunk = (content: string) =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", model: "gpt-5-mini-2025-08-07", choices: [{ delta: { content } }] })}\n\n`;
const stream = `${chunk("four ")}${chunk("five")}`;
const ended = `${stream}data: [DONE]\n\n`;

describe("a Chat stream without usage", () => {
  it("has no counts and no cost without the option", async () => {
    const rig = createCaptureRig();
    await call(rig, request, { body: ended });
    const [record] = rig.records;
    assert.deepEqual([record?.tokens.promptTokens, record?.tokens.completionTokens], [null, null]);
    assert.deepEqual([record?.costPicoUsd, record?.costSource], [null, "unpriced"]);
  });

  for (const [what, body, cut] of [
    ["that ended", ended, false],
    ["that was cut", stream, true],
  ] as const) {
    it(`${what} is estimated with the option, and marked as an estimate`, async () => {
      const tokenCounter = createWordCounter();
      const rig = createCaptureRig({ tokenCounter });
      await call(rig, request, { body, cut });
      const [record] = rig.records;
      // Three words and one message; two words.
      assert.deepEqual([record?.tokens.promptTokens, record?.tokens.completionTokens], [7, 2]);
      assert.deepEqual(record?.usageExtras, { estimated_input: 1, estimated_output: 1 });
      assert.equal(record?.tokensComplete, false);
      // $0.25 and $2 per million.
      assert.deepEqual(
        [record?.costPicoUsd, record?.costSource],
        [7n * 250_000n + 2n * 2_000_000n, "estimated"],
      );
      assert.ok(tokenCounter.models.every((model) => model === "gpt-5-mini-2025-08-07"));
    });
  }

  it("is not estimated if the provider failed", async () => {
    const rig = createCaptureRig({ tokenCounter: createWordCounter() });
    await call(rig, request, { status: 500, body: '{"error":{"message":"down"}}' });
    assert.deepEqual(rig.records[0]?.usageExtras, null);
  });
});

describe("a Messages stream that was cut off", () => {
  it("keeps the reported input, and estimates the output that arrived", async () => {
    const rig = createCaptureRig({ tokenCounter: createWordCounter() });
    const start = {
      type: "message_start",
      message: { id: "msg_1", model: "claude-haiku-4-5", usage: { input_tokens: 50, output_tokens: 1 } },
    };
    const delta = { type: "content_block_delta", delta: { type: "text_delta", text: "a b c" } };
    const body = [start, delta].map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");
    const messages = [{ role: "user", content: "x" }];
    await call(
      rig,
      {
        host: "api.anthropic.com",
        path: "/v1/messages",
        body: { model: "claude-haiku-4-5", stream: true, messages },
      },
      { body, cut: true },
    );
    const [record] = rig.records;
    assert.deepEqual([record?.tokens.promptTokens, record?.tokens.completionTokens], [50, 3]);
    assert.deepEqual(record?.usageExtras, { estimated_output: 1 });
    assert.deepEqual([record?.costSource, record?.errorClass], ["estimated", "network"]);
  });
});

describe("reported usage", () => {
  it("is never replaced by an estimate", async () => {
    const tokenCounter = createWordCounter();
    const rig = createCaptureRig({ tokenCounter });
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
    await call(rig, request, {
      body: `${stream}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
    });
    assert.deepEqual(tokenCounter.models, []);
    assert.equal(rig.records[0]?.costSource, "computed");
  });
});
