import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { call, createCaptureRig } from "./capture.rig.ts";

const responseId = "resp_67ccd2bed1ec8190b14f964abc054267";
const path = `/v1/responses/${responseId}`;
const response = (status: string, more: object = {}) => ({
  id: responseId,
  object: "response",
  background: true,
  model: "gpt-5-mini",
  status,
  usage: null,
  ...more,
});
const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 10 },
  total_tokens: 130,
};
const asked = { model: "gpt-5-mini", input: "think", background: true };
const ask = { path: "/v1/responses", body: asked };
const done = JSON.stringify(response("completed", { usage }));

describe("a response in the background", () => {
  it("makes one record, with the first poll that finds it complete", async () => {
    const rig = createCaptureRig();
    await call(rig, ask, { body: JSON.stringify(response("queued")) });
    await call(rig, { path }, { body: JSON.stringify(response("in_progress")) });
    assert.equal(rig.records.length, 0);
    for (let poll = 0; poll < 3; poll++) await call(rig, { path }, { body: done });
    assert.equal(rig.records.length, 1);
    assert.equal(rig.records[0]?.tokens.promptTokens, 60);
    assert.equal(rig.records[0]?.providerResponseId, responseId);
    assert.deepEqual(rig.counts, { connections: 5, free: 2, metered: 1, repeated: 2 });
  });

  it("makes one record also after a restart", async () => {
    const rig = createCaptureRig();
    await call(rig, { path }, { body: done });
    const later = rig.restart();
    await call(later, { path }, { body: done });
    assert.equal(later.records.length, 0);
    assert.deepEqual(later.counts, { connections: 1, repeated: 1 });
  });

  const stream = (...events: object[]) =>
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const created = { type: "response.created", response: response("in_progress") };

  it("makes no record when polled if it was streamed", async () => {
    const rig = createCaptureRig();
    const completed = { type: "response.completed", response: response("completed", { usage }) };
    await call(rig, { ...ask, body: { ...asked, stream: true } }, { body: stream(created, completed) });
    const later = rig.restart();
    await call(later, { path }, { body: done });
    assert.deepEqual([rig.records.length, later.records.length], [1, 0]);
  });

  it("completes the record of a stream that was cut off with the poll that finds it complete", async () => {
    const rig = createCaptureRig();
    await call(rig, { ...ask, body: { ...asked, stream: true } }, { body: stream(created), cut: true });
    assert.deepEqual(
      rig.records.map(({ tokensComplete, tokens }) => [tokensComplete, tokens.promptTokens]),
      [[false, null]],
    );
    for (const again of [rig, rig.restart()]) {
      await call(again, { path }, { body: done });
      assert.equal(rig.stored.size, 1);
      assert.deepEqual(
        [...rig.stored.values()].map(({ tokensComplete, tokens }) => [tokensComplete, tokens.promptTokens]),
        [[true, 60]],
      );
    }
  });
});

describe("a stored response that did not run in the background", () => {
  it("makes no record when it is fetched", async () => {
    const rig = createCaptureRig();
    const body = JSON.stringify(response("completed", { usage, background: false }));
    await call(rig, { path: "/v1/responses", body: { model: "gpt-5-mini", input: "x" } }, { body });
    await call(rig, { path }, { body });
    assert.equal(rig.records.length, 1);
    assert.equal(rig.counts.metered, 1);
  });

  it("makes an incomplete record if its stream is cut off", async () => {
    const rig = createCaptureRig();
    const created = { type: "response.created", response: response("in_progress", { background: false }) };
    await call(
      rig,
      { path: "/v1/responses", body: { model: "gpt-5-mini", input: "x", stream: true } },
      { body: `data: ${JSON.stringify(created)}\n\n`, cut: true },
    );
    assert.deepEqual(
      rig.records.map(({ tokensComplete, errorClass }) => [tokensComplete, errorClass]),
      [[false, "network"]],
    );
  });
});

describe("a fetch that fails", () => {
  it("makes no record", async () => {
    const rig = createCaptureRig();
    await call(rig, { path }, { status: 404, body: '{"error":{"message":"no such response"}}' });
    const connection = rig.connect("api.openai.com");
    connection.pass("request", `GET ${path} HTTP/1.1\r\nHost: api.openai.com\r\n\r\n`);
    connection.close("upstream_reset", 5);
    await rig.capture.settled();
    assert.equal(rig.records.length, 0);
    assert.equal(rig.counts.free, 2);
  });
});

describe("the results of a batch", () => {
  const host = "api.anthropic.com";
  const results = { host, path: "/v1/messages/batches/msgbatch_1/results" };
  const line = (n: number) =>
    JSON.stringify({
      custom_id: `c${n}`,
      result: {
        type: "succeeded",
        message: {
          id: `msg_${String(n).padStart(24, "0")}`,
          type: "message",
          model: "claude-haiku-4-5",
          usage: { input_tokens: 10 + n, output_tokens: 5, service_tier: "batch" },
        },
      },
    });
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => `${line(from + at)}\n`).join("");

  it("make one record each, at the batch price", async () => {
    const rig = createCaptureRig();
    await call(rig, results, { body: lines(0, 3) });
    assert.deepEqual(
      rig.records.map(({ tokens, serviceTier, costPicoUsd }) => [
        tokens.promptTokens,
        serviceTier,
        costPicoUsd,
      ]),
      // Haiku 4.5: $1 and $5 per million, half of that for a batch.
      [10, 11, 12].map((input) => [input, "batch", BigInt(input) * 500_000n + 5n * 2_500_000n]),
    );
    assert.deepEqual(rig.counts, { connections: 1, metered: 1 });
  });

  it("make one record each, even if fetched repeatedly and after a restart", async () => {
    const rig = createCaptureRig();
    await call(rig, results, { body: lines(0, 3) });
    await call(rig, results, { body: lines(0, 3) });
    const later = rig.restart();
    await call(later, results, { body: lines(0, 5) });
    assert.deepEqual([rig.records.length, later.records.length, later.stored.size], [3, 2, 5]);
    assert.deepEqual(rig.counts, { connections: 2, metered: 1, repeated: 1 });
  });

  it("are recorded over several turns of the event loop if there are many", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    const body = lines(0, 1200);
    connection.pass("request", `GET ${results.path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    connection.pass("response", `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    let turns = 0;
    let idle = false;
    rig.capture.settled().then(() => {
      idle = true;
    });
    for (let before = 0; !idle; before = rig.records.length, turns++) {
      assert.ok(rig.records.length - before <= 500);
      await new Promise(setImmediate);
    }
    assert.equal(rig.records.length, 1200);
    assert.ok(turns >= 2, `${turns} turns`);
  });
});

describe("a client's retry", () => {
  it("has its own response ID and its own record", async () => {
    const rig = createCaptureRig();
    for (const n of [1, 2]) {
      await call(
        rig,
        { path: "/v1/chat/completions", body: { model: "gpt-5-mini", messages: [] } },
        {
          body: JSON.stringify({
            id: `chatcmpl-${"x".repeat(20)}${n}`,
            model: "gpt-5-mini",
            usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
          }),
        },
      );
    }
    assert.equal(rig.records.length, 2);
  });
});

describe("a response on two connections at once", () => {
  it("makes one record, from the one that ended first", async () => {
    const rig = createCaptureRig();
    const body = JSON.stringify({
      id: "msg_0123456789abcdefghijklmn",
      model: "claude-haiku-4-5",
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    const request = { host: "api.anthropic.com", path: "/v1/messages", body: { model: "claude-haiku-4-5" } };
    await call(rig, request, { body });
    await call(rig, request, { body });
    assert.equal(rig.records.length, 1);
    assert.equal(rig.counts.repeated, 1);
  });
});

describe("a job", () => {
  const id = "video_0123456789abcdef0123";
  const video = (status: string, more: object = {}) =>
    JSON.stringify({ id, object: "video", model: "sora-2", status, ...more });
  const start = { path: "/v1/videos", body: { model: "sora-2", prompt: "rain" } };
  const poll = { path: `/v1/videos/${id}` };

  it("makes a record without counts when it is started, which a poll completes, even after a restart", async () => {
    const rig = createCaptureRig();
    await call(rig, start, { body: video("queued") });
    assert.deepEqual(
      rig.records.map(({ model, tokensComplete }) => [model, tokensComplete]),
      [["sora-2", false]],
    );
    const later = rig.restart();
    await call(later, poll, { body: video("in_progress") });
    assert.equal(later.records.length, 0);
    await call(later, poll, { body: video("completed", { seconds: "8" }) });
    const [record] = [...rig.stored.values()];
    assert.equal(rig.stored.size, 1);
    assert.deepEqual([record?.tokensComplete, record?.usageExtras], [true, { video_milliseconds: 8000 }]);
  });

  it("is found by the ID in the path of the poll, where the response repeats none", async () => {
    const requestId = "5f0f9d4c-7d0c-4b54-9d6e-3d0b0f3f9f11";
    const rig = createCaptureRig();
    const host = "api.x.ai";
    await call(
      rig,
      { host, path: "/v1/videos/generations", body: { model: "grok-imagine-video" } },
      { body: JSON.stringify({ request_id: requestId }) },
    );
    const later = rig.restart();
    const usage = { cost_in_usd_ticks: 500_000_000 };
    await call(
      later,
      { host, path: `/v1/videos/${requestId}` },
      { body: JSON.stringify({ status: "done", video: { duration: 1 }, usage }) },
    );
    assert.deepEqual(
      [...rig.stored.values()].map(({ providerCostPicoUsd }) => providerCostPicoUsd),
      [50_000_000_000n],
    );
  });

  it("is not counted again when it is fetched once more", async () => {
    const rig = createCaptureRig();
    await call(rig, start, { body: video("queued", { seconds: "8" }) });
    await call(rig, poll, { body: video("completed", { seconds: "8" }) });
    assert.deepEqual([rig.records.length, rig.counts.repeated], [1, 1]);
  });
});
