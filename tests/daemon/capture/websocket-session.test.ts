import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import { constants, createDeflateRaw } from "node:zlib";
import type { TapDirection } from "../../../daemon/proxy/tap-frames.ts";
import { frameBytes } from "../../core/metering/exchange/websocket-frames.rig.ts";
import { type CaptureRig, createCaptureRig, type RigConnection } from "./capture.rig.ts";

const MASK = Uint8Array.of(1, 2, 3, 4);

interface Socket {
  connection: RigConnection;
  /** Sends one text message as one frame. */
  send(direction: TapDirection, message: object, atMs: number): void;
}

function upgrade(rig: CaptureRig, target: string, extensions = ""): Socket {
  const host = "api.openai.com";
  const connection = rig.connect(host);
  connection.pass(
    "request",
    `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    1,
  );
  connection.pass(
    "response",
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${extensions}\r\n`,
    2,
  );
  return {
    connection,
    send(direction, message, atMs) {
      const payload = Buffer.from(JSON.stringify(message));
      const mask = direction === "request" ? { mask: MASK } : {};
      connection.pass(direction, frameBytes({ opcode: 1, payload, ...mask }), atMs);
    },
  };
}

const id = (n: number) => `resp_${String(n).padStart(32, "0")}`;
const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 10 },
  total_tokens: 130,
};
const created = (n: number) => ({ type: "response.created", response: { id: id(n), model: "gpt-5-mini" } });
const completed = (n: number) => ({
  type: "response.completed",
  response: { id: id(n), model: "gpt-5-mini", status: "completed", usage },
});
const create = { type: "response.create", model: "gpt-5-mini", input: "hi", service_tier: "priority" };

describe("Responses over a WebSocket", () => {
  it("are calls in flight from the request to the end of the response", async () => {
    let atMs = 0;
    const rig = createCaptureRig({ ports: { monotonicMs: () => atMs } });
    const shown = () =>
      rig.capture.callsInFlight().map(({ provider, model, runningMs }) => [provider, model, runningMs]);
    const { connection, send } = upgrade(rig, "/v1/responses");
    atMs = 500;
    assert.deepEqual(shown(), []);
    send("request", create, 100);
    assert.deepEqual(shown(), [["openai", "gpt-5-mini", 400]]);
    send("response", created(1), 150);
    send("request", { ...create, model: "gpt-5" }, 300);
    assert.deepEqual(shown(), [
      ["openai", "gpt-5-mini", 400],
      ["openai", "gpt-5", 200],
    ]);
    send("response", completed(1), 200);
    assert.deepEqual(shown(), [["openai", "gpt-5", 200]]);
    connection.close("clean", 600);
    assert.deepEqual(shown(), []);
    await rig.capture.settled();
  });

  it("make one record each, timed from the client's request to the end", async () => {
    const rig = createCaptureRig();
    const { connection, send } = upgrade(rig, "/v1/responses");
    for (const [n, at] of [
      [1, 100],
      [2, 900],
    ] as const) {
      send("request", create, at);
      send("response", created(n), at + 50);
      send("response", { type: "response.output_text.delta", delta: "hello" }, at + 60);
      send("response", completed(n), at + 200);
    }
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map((record) => [
        record.providerResponseId,
        record.latencyMs,
        record.ttfbMs,
        record.tokens.promptTokens,
        record.tokens.cacheReadTokens,
        record.tokens.thinkingTokens,
      ]),
      [
        [id(1), 200, 50, 60, 40, 10],
        [id(2), 200, 50, 60, 40, 10],
      ],
    );
    const [record] = rig.records;
    assert.deepEqual(
      [record?.api, record?.httpStatus, record?.streaming, record?.method, record?.path],
      ["openai.responses", 101, true, "GET", "/v1/responses"],
    );
    assert.deepEqual([record?.requestedModel, record?.errorClass], ["gpt-5-mini", null]);
    assert.match(record?.promptHash ?? "", /^[0-9a-f]{64}$/);
    connection.close("clean", 2000);
    await rig.capture.settled();
    assert.equal(rig.records.length, 2);
    assert.deepEqual(rig.counts, { connections: 1, metered: 2 });
  });

  it("make a record of an unanswered request when the connection ends", async () => {
    const rig = createCaptureRig();
    const { connection, send } = upgrade(rig, "/v1/responses");
    send("request", create, 100);
    send("response", created(1), 150);
    send("request", create, 160);
    connection.close("client_aborted", 300);
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ httpStatus, errorClass, retryable, tokensComplete, latencyMs, ttfbMs }) => [
        ...[httpStatus, errorClass, retryable, tokensComplete, latencyMs, ttfbMs],
      ]),
      [
        [101, "network", false, false, 200, 50],
        [null, "network", false, false, 140, null],
      ],
    );
  });

  it("make a record of a refused request", async () => {
    const rig = createCaptureRig();
    const { send } = upgrade(rig, "/v1/responses");
    send("request", create, 100);
    send(
      "response",
      { type: "error", status: 400, error: { code: "previous_response_not_found", message: "none" } },
      180,
    );
    send("request", create, 200);
    send("response", created(1), 210);
    send("response", completed(1), 300);
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ errorClass, providerErrorCode, latencyMs }) => [
        errorClass,
        providerErrorCode,
        latencyMs,
      ]),
      [
        ["bad_request", "previous_response_not_found", 80],
        [null, null, 100],
      ],
    );
  });

  it("release their memory and are no longer followed when meter itself fails", async () => {
    const followed: string[] = [];
    const rig = createCaptureRig({
      limits: { maxHeldMessageBytes: 100_000 },
      ports: {
        heldCalls: {
          ...{ passed() {}, read() {}, closed() {}, cut() {} },
          began: (_, request) => void followed.push(`began ${request}`),
          ended: (_, request, requestId) => void followed.push(`ended ${request} ${requestId}`),
        },
        log: { debug() {}, info() {}, warn() {}, error() {} },
        sha256Hex(text) {
          if (text.includes("planted")) throw new Error("planted");
          return text;
        },
      },
    });
    const big = { type: "response.output_text.delta", delta: "x".repeat(60_000) };
    for (let at = 0; at < 2; at += 1) {
      const { connection, send } = upgrade(rig, "/v1/responses");
      followed.length = 0;
      send("request", create, 100);
      connection.pass(
        "response",
        frameBytes({ opcode: 1, payload: Buffer.from(JSON.stringify(big)) }).subarray(0, 50_000),
        110,
      );
      send("request", { ...create, input: "planted" }, 120);
      assert.deepEqual(followed, ["began -1", "ended -1 null"]);
    }
    const { connection, send } = upgrade(rig, "/v1/responses");
    send("request", create, 200);
    send("response", created(1), 210);
    const last = frameBytes({ opcode: 1, payload: Buffer.from(JSON.stringify({ ...completed(1), big })) });
    connection.pass("response", last.subarray(0, 50_000), 220);
    connection.pass("response", last.subarray(50_000), 230);
    await rig.capture.settled();
    assert.equal(rig.counts.capture_failed, 2);
    assert.deepEqual(
      rig.records.map(({ tokens }) => tokens.promptTokens),
      [60],
    );
  });

  it("share their memory with all other responses: a message that exceeds it is skipped and counted", async () => {
    const rig = createCaptureRig({ limits: { maxHeldMessageBytes: 100_000 } });
    const sessions = Array.from({ length: 20 }, (_, n) => ({ n, ...upgrade(rig, "/v1/responses") }));
    const large = (n: number) => {
      const message = completed(n);
      const text = JSON.stringify({
        ...message,
        response: { ...message.response, output: "x".repeat(20_000) },
      });
      return frameBytes({ opcode: 1, payload: Buffer.from(text) });
    };
    for (const { n, connection, send } of sessions) {
      send("request", create, 100);
      send("response", created(n), 150);
      connection.pass("response", large(n).subarray(0, 15_000), 160);
    }
    for (const { n, connection, send } of sessions) {
      connection.pass("response", large(n).subarray(15_000), 170);
      send("response", { type: "response.output_text.delta", delta: "still read" }, 180);
      connection.close("clean", 200);
    }
    await rig.capture.settled();
    const read = rig.records.filter(({ tokens }) => tokens.promptTokens !== null).length;
    assert.ok(read >= 2 && read < 20, `${read} were read`);
    assert.deepEqual(
      [rig.records.length, rig.counts.usage_not_kept, rig.counts.unreadable],
      [20, 20 - read, undefined],
    );
  });

  it("are counted as free if nothing was requested", async () => {
    const rig = createCaptureRig();
    upgrade(rig, "/v1/responses").connection.close();
    await rig.capture.settled();
    assert.deepEqual(rig.counts, { connections: 1, free: 1 });
  });
});

describe("Realtime", () => {
  const done = (n: number) => ({
    type: "response.done",
    response: {
      id: id(n),
      status: "completed",
      usage: {
        total_tokens: 50,
        input_tokens: 30,
        output_tokens: 20,
        input_token_details: { text_tokens: 10, audio_tokens: 20, cached_tokens: 0 },
        output_token_details: { text_tokens: 5, audio_tokens: 15 },
      },
    },
  });

  it("makes a record for each response, whether the client or the provider started it", async () => {
    const rig = createCaptureRig();
    const { send } = upgrade(rig, "/v1/realtime?model=gpt-realtime");
    send("response", { type: "session.created", session: { model: "gpt-realtime" } }, 10);
    send("request", { type: "session.update", session: { instructions: "be brief" } }, 20);
    send("request", { type: "response.create", response: { instructions: "greet" } }, 100);
    send("response", { type: "response.created", response: { id: id(1) } }, 120);
    send("response", done(1), 300);
    send("request", { type: "input_audio_buffer.append", audio: "AAAA" }, 400);
    send("response", { type: "response.created", response: { id: id(2) } }, 500);
    send("response", done(2), 700);
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ model, requestedModel, latencyMs, tokens, usageExtras }) => [
        ...[model, requestedModel, latencyMs, tokens.promptTokens, tokens.completionTokens],
        usageExtras?.audio_input_tokens,
      ]),
      [
        ["gpt-realtime", "gpt-realtime", 200, 30, 20, 20],
        ["gpt-realtime", "gpt-realtime", 200, 30, 20, 20],
      ],
    );
    assert.ok(rig.records.every(({ costSource }) => costSource === "computed"));
  });

  it("removes a request that an error refuses, with or without its event ID", async () => {
    const rig = createCaptureRig();
    const { connection, send } = upgrade(rig, "/v1/realtime?model=gpt-realtime");
    send("request", { type: "response.create", event_id: "mine" }, 100);
    send("response", { type: "error", error: { type: "invalid_request_error", event_id: "another" } }, 105);
    send("response", { type: "error", error: { type: "invalid_request_error", event_id: "mine" } }, 110);
    send("request", { type: "response.create" }, 120);
    send("response", { type: "error", error: { type: "invalid_request_error", event_id: null } }, 130);
    send("request", { type: "response.create" }, 200);
    send("response", { type: "response.created", response: { id: id(1) } }, 220);
    send("response", done(1), 300);
    connection.close();
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ latencyMs }) => latencyMs),
      [100],
    );
  });
});

describe("a compressed WebSocket", () => {
  const deflate = createDeflateRaw();
  const compress = (text: string) =>
    new Promise<Buffer>((resolve) => {
      const pieces: Buffer[] = [];
      const take = (piece: Buffer) => pieces.push(piece);
      deflate.on("data", take);
      deflate.write(text);
      deflate.flush(constants.Z_SYNC_FLUSH, () => {
        deflate.off("data", take);
        resolve(Buffer.concat(pieces).subarray(0, -4));
      });
    });
  const agreed = "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n";

  it("is read with a window of the earlier messages", async () => {
    const rig = createCaptureRig();
    const { connection, send } = upgrade(rig, "/v1/responses", agreed);
    for (const n of [1, 2, 3]) {
      send("request", create, n * 100);
      for (const message of [created(n), completed(n)]) {
        const payload = await compress(JSON.stringify(message));
        connection.pass("response", frameBytes({ opcode: 1, payload, compressed: true }), n * 100 + 10);
      }
    }
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ providerResponseId }) => providerResponseId),
      [1, 2, 3].map(id),
    );
  });

  it("with a decompression bomb is abandoned, counted and logged", async () => {
    const rig = createCaptureRig();
    const { connection, send } = upgrade(rig, "/v1/responses", agreed);
    send("request", create, 100);
    const bomb = createDeflateRaw();
    bomb.end(Buffer.alloc(32 * 1024 * 1024));
    const payload = Buffer.concat(await bomb.toArray());
    connection.pass("response", frameBytes({ opcode: 1, payload, compressed: true }), 110);
    send("response", completed(1), 120);
    connection.close("clean", 200);
    await rig.capture.settled();
    assert.equal(rig.counts.unreadable, 1);
    assert.equal(rig.counts["capture.unreadable"], 1);
    assert.deepEqual(
      rig.records.map(({ tokensComplete, errorClass }) => [tokensComplete, errorClass]),
      [[false, "network"]],
    );
  });

  it("with an unknown extension passes unread, and is counted as unread", async () => {
    const rig = createCaptureRig();
    const { send } = upgrade(rig, "/v1/responses", "Sec-WebSocket-Extensions: mux\r\n");
    send("response", completed(1), 120);
    await rig.capture.settled();
    assert.deepEqual(rig.counts, { connections: 1, websocket: 1 });
  });
});
