import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createUsageReader } from "../../../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { bytesOf, countsOf, NO_COUNTS, readAnswer, routeOf, sse } from "./answers.rig.ts";

const CHAT = "https://api.cohere.com/v2/chat";
const EMBED = "https://api.cohere.com/v2/embed";
const RERANK = "https://api.cohere.com/v2/rerank";

const usage = {
  billed_units: { input_tokens: 5, output_tokens: 418 },
  tokens: { input_tokens: 71, output_tokens: 420 },
  cached_tokens: 64,
};

const spell = (report: UsageReport) => [report.responseId, ...countsOf(report), report.tokensComplete];

describe("cohereChat", () => {
  it("reads the billed tokens, not the processed ones", () => {
    const report = readAnswer(CHAT, JSON.stringify({ id: "c1", finish_reason: "COMPLETE", usage }));
    assert.deepEqual(spell(report), ["c1", 5, null, null, null, 418, null, true]);
    assert.equal(report.unknownUsage, null);
  });

  it("reads the end of a stream", () => {
    const body = sse(
      { type: "message-start", id: "c1", delta: { message: { role: "assistant" } } },
      { type: "content-delta", index: 0, delta: { message: { content: { text: 'the "billed_units"' } } } },
      { type: "message-end", delta: { finish_reason: "COMPLETE", usage } },
    );
    assert.deepEqual(spell(readAnswer(CHAT, body)), ["c1", 5, null, null, null, 418, null, true]);
  });

  it("reads v1, whole and as lines", () => {
    const meta = { api_version: { version: "1" }, billed_units: usage.billed_units, tokens: usage.tokens };
    const v1 = CHAT.replace("v2", "v1");
    const whole = JSON.stringify({ generation_id: "g1", text: "x", meta });
    assert.deepEqual(spell(readAnswer(v1, whole)), ["g1", 5, null, null, null, 418, null, true]);
    const lines = [
      { event_type: "text-generation", text: "x" },
      { event_type: "stream-end", response: { generation_id: "g2", meta } },
    ];
    const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    assert.deepEqual(spell(readAnswer(v1, body)), ["g2", 5, null, null, null, 418, null, true]);
  });

  it("reads a complete response that spans several lines", () => {
    const reader = createUsageReader(routeOf(CHAT), { status: 200, contentType: null, streaming: false });
    reader.push(bytesOf(JSON.stringify({ id: "c1", usage }, null, 2)));
    assert.equal(reader.end(true).tokens.promptTokens, 5);
  });

  it("reports unknown counts for a truncated stream", () => {
    const body = sse({ type: "message-start", id: "c1" });
    assert.deepEqual(spell(readAnswer(CHAT, body, { complete: false })), ["c1", ...NO_COUNTS, false]);
  });

  it("keeps unknown members", () => {
    const body = JSON.stringify({ usage: { billed_units: { input_tokens: 1, output_tokens: 1, moons: 3 } } });
    assert.equal(readAnswer(CHAT, body).unknownUsage, '{"billed_units":{"moons":3}}');
  });
});

describe("cohereEmbed and cohereRerank", () => {
  it("reads an embedding of texts and images, which has no output", () => {
    const meta = { billed_units: { input_tokens: 6, image_tokens: 40, images: 1 } };
    const report = readAnswer(EMBED, JSON.stringify({ id: "e1", meta }));
    assert.deepEqual(spell(report), ["e1", 46, null, null, null, 0, null, true]);
    assert.deepEqual(report.extras, { image_input_tokens: 40 });
    assert.deepEqual(countsOf(readAnswer(EMBED, '{"meta":{}}')), NO_COUNTS);
    const images = '{"meta":{"billed_units":{"image_tokens":40}}}';
    assert.deepEqual(countsOf(readAnswer(EMBED, images)), [40, null, null, null, 0, null]);
  });

  it("reads a rerank, billed by searches", () => {
    const report = readAnswer(RERANK, '{"id":"r1","results":[],"meta":{"billed_units":{"search_units":2}}}');
    assert.deepEqual(spell(report), ["r1", ...NO_COUNTS, true]);
    assert.deepEqual(report.extras, { search_units: 2 });
    assert.equal(readAnswer(RERANK, "{}").tokensComplete, false);
  });
});
