import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import type { TapDirection } from "../../../daemon/proxy/tap-frames.ts";
import { frameBytes } from "../../core/metering/exchange/websocket-frames.rig.ts";
import { createCaptureRig } from "./capture.rig.ts";

const HOST = "generativelanguage.googleapis.com";
const TARGET = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=secret";
const MASK = Uint8Array.of(1, 2, 3, 4);

function openLive() {
  const rig = createCaptureRig();
  const connection = rig.connect(HOST);
  connection.pass(
    "request",
    `GET ${TARGET} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    1,
  );
  connection.pass(
    "response",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    2,
  );
  const pass = (direction: TapDirection, message: object, atMs: number) => {
    const payload = Buffer.from(JSON.stringify(message));
    const framing = direction === "request" ? { opcode: 1, mask: MASK } : { opcode: 2 };
    connection.pass(direction, frameBytes({ ...framing, payload }), atMs);
  };
  return {
    ...rig,
    close: connection.close,
    sent: (message: object, atMs: number) => pass("request", message, atMs),
    received: (message: object, atMs: number) => pass("response", message, atMs),
  };
}

const setup = { setup: { model: "models/gemini-3.1-flash-live-preview" } };
const say = { clientContent: { turns: [], turnComplete: true } };
const sound = { serverContent: { modelTurn: { parts: [] } } };
const complete = { serverContent: { turnComplete: true } };
const usageMetadata = { promptTokenCount: 10, responseTokenCount: 5 };

describe("Gemini Live", () => {
  it("records each turn, timed from the client's message to the usage, with the model of the setup", async () => {
    const live = openLive();
    live.sent(setup, 10);
    live.received({ setupComplete: {} }, 20);
    live.sent(say, 100);
    live.received(sound, 150);
    live.received(sound, 160);
    live.received({ ...complete, usageMetadata }, 300);
    live.sent({ tool_response: { function_responses: [] } }, 400);
    live.received({ toolCall: { functionCalls: [] }, usageMetadata }, 480);
    live.close("clean", 500);
    await live.capture.settled();
    assert.deepEqual(
      live.records.map(({ model, requestedModel, latencyMs, ttfbMs, tokensComplete, errorClass }) => [
        ...[model, requestedModel, latencyMs, ttfbMs, tokensComplete, errorClass],
      ]),
      [
        ["gemini-3.1-flash-live-preview", "gemini-3.1-flash-live-preview", 200, 50, true, null],
        ["gemini-3.1-flash-live-preview", "gemini-3.1-flash-live-preview", 80, 80, true, null],
      ],
    );
    const [record] = live.records;
    assert.deepEqual(
      [record?.api, record?.provider, record?.streaming, record?.promptHash],
      ["gemini.live", "gemini", true, null],
    );
    assert.ok(!record?.path?.includes("secret"));
    assert.deepEqual(live.counts, { connections: 1, metered: 2 });
  });

  it("times a turn of streamed audio from the first message of the response, or from a usage message", async () => {
    const live = openLive();
    live.sent(setup, 10);
    live.sent({ realtimeInput: { audio: { data: "AAAA" } } }, 50);
    live.received(sound, 150);
    live.received({ usageMetadata }, 250);
    live.received({ usageMetadata }, 300);
    live.close("clean", 400);
    await live.capture.settled();
    assert.deepEqual(
      live.records.map(({ latencyMs, ttfbMs }) => [latencyMs, ttfbMs]),
      [
        [100, 0],
        [0, 0],
      ],
    );
  });

  it("records a turn that ended without usage, without counts", async () => {
    const live = openLive();
    live.sent(setup, 10);
    live.received(sound, 100);
    live.received(complete, 140);
    live.received(complete, 150);
    live.received(sound, 200);
    live.received({ usageMetadata }, 260);
    live.received(sound, 300);
    live.received(complete, 350);
    live.close("client_aborted", 900);
    await live.capture.settled();
    assert.deepEqual(
      live.records.map(({ tokens, latencyMs, errorClass }) => [tokens.promptTokens, latencyMs, errorClass]),
      [
        [null, 40, null],
        [10, 60, null],
        [null, 50, null],
      ],
    );
    assert.deepEqual(live.counts, { connections: 1, metered: 3, without_usage: 2 });
  });

  it("records which side ended a turn that was cut off", async () => {
    const live = openLive();
    live.sent({ setup: {} }, 10);
    live.sent(setup, 11);
    live.sent({ setup: {} }, 12);
    live.received(sound, 100);
    live.close("client_aborted", 180);
    await live.capture.settled();
    assert.deepEqual(
      live.records.map(({ model, tokensComplete, latencyMs, errorClass }) => [
        ...[model, tokensComplete, latencyMs, errorClass],
      ]),
      [["gemini-3.1-flash-live-preview", false, 80, "network"]],
    );
  });

  it("accepts a session without a model, and counts an unused session as free", async () => {
    const live = openLive();
    live.received({ usageMetadata }, 100);
    await live.capture.settled();
    assert.deepEqual([live.records[0]?.model, live.records[0]?.requestedModel], ["unknown", null]);
    const silent = openLive();
    silent.sent(setup, 10);
    silent.received(complete, 20);
    silent.close("clean", 30);
    await silent.capture.settled();
    assert.deepEqual(silent.counts, { connections: 1, free: 1 });
  });
});
