import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateRawSync, gzipSync } from "node:zlib";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import type { LogEvent } from "../../../core/ports/log.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { UNKNOWN_FIELDS } from "../../../core/values/record-fields.ts";
import type { CallAttribution, CapturePorts, ConnectionAttribution } from "../../../daemon/capture/ports.ts";
import type { CloseReason, TapFrame } from "../../../daemon/proxy/tap-frames.ts";
import { ATTRIBUTION_DUE_MS } from "../../../daemon/store/port/attribution-due.ts";
import { type CaptureRig, call, createCaptureRig, type RigConnection, rigStart } from "./capture.rig.ts";

const host = "api.anthropic.com";
const path = "/v1/messages";
const request = {
  model: "claude-sonnet-4-5",
  max_tokens: 9,
  system: "Be brief.",
  messages: [{ role: "user", content: "Zürich? 🧮" }],
};
/** The prompt's fields in the order of RFC 8785, written by hand. */
const canonicalPrompt = '{"messages":[{"content":"Zürich? 🧮","role":"user"}],"system":"Be brief."}';
const promptHash = createHash("sha256").update(canonicalPrompt).digest("hex");
const id = "msg_01234567890123456789abcd";
const usage = {
  input_tokens: 100,
  cache_read_input_tokens: 10,
  cache_creation_input_tokens: 0,
  output_tokens: 20,
  service_tier: "standard",
};
const message = JSON.stringify({ id, type: "message", model: "claude-sonnet-4-5-20250929", usage });
const events = [
  {
    type: "message_start",
    message: {
      id,
      model: "claude-sonnet-4-5-20250929",
      usage: { ...usage, output_tokens: 1 },
    },
  },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Ja — 🧮" } },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 20 } },
  { type: "message_stop" },
];
const stream = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

function requestBytes(
  body: string | Uint8Array = JSON.stringify(request),
  headers = "",
  target = path,
): Buffer {
  const bytes = Buffer.from(body as string);
  const head = `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

function answerBytes(body: string | Uint8Array = message, headers = "", status = "200 OK"): Buffer {
  const bytes = Buffer.from(body as string);
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`),
    bytes,
  ]);
}

/** A log that records its lines. */
function createHeardLog() {
  const heard: Record<string, unknown>[] = [];
  const write = (event: LogEvent, fields: object) => void heard.push({ event, ...fields });
  return { heard, log: { debug: write, info: write, warn: write, error: write } };
}

const nobody: CallAttribution = {
  project: "rig",
  tier: "header",
  workdir: null,
  client: null,
  bodyCaptureRefused: true,
};

describe("createCapture() with one call", () => {
  it("records a complete response with every field", async () => {
    const rig = createCaptureRig({
      ports: {
        monotonicMs: () => 1_500,
        attribution: () => ({
          attribute: async () => ({ ...nobody, workdir: "/home/me/web", client: "node", tier: "git_root" }),
        }),
      },
    });
    const connection = rig.connect(host);
    const key = "X-Api-Key: sk-ant-api03-abc\r\n";
    connection.pass("request", requestBytes(JSON.stringify(request), key, `${path}?beta=true`), 1_000.25);
    connection.pass("response", answerBytes(), 1_100.5);
    await rig.capture.settled();
    const [record] = rig.records;
    assert.deepEqual(record, {
      ...UNKNOWN_FIELDS,
      // 499.75 ms before now on the monotonic clock, rounded to whole milliseconds.
      requestId: record!.requestId,
      requestedAt: rigStart - 500,
      provider: "anthropic",
      model: "claude-sonnet-4-5-20250929",
      requestedModel: "claude-sonnet-4-5",
      requestKind: "chat",
      streaming: false,
      tokens: {
        promptTokens: 100,
        cacheReadTokens: 10,
        cacheWriteTokens: 0,
        cacheWrite1hTokens: 0,
        completionTokens: 20,
        thinkingTokens: null,
      },
      tokensComplete: true,
      // 100 at $3, 10 at $0.30 and 20 at $15 per million.
      costPicoUsd: 300_000_000n + 3_000_000n + 300_000_000n,
      costSource: "computed",
      providerCostPicoUsd: null,
      billingMode: "metered",
      ratesSource: "bundled",
      serviceTier: "standard",
      usageExtras: null,
      latencyMs: 100.25,
      ttfbMs: 100.25,
      httpStatus: 200,
      errorClass: null,
      providerErrorCode: null,
      retryable: null,
      errorMessageHash: null,
      project: "rig",
      attributionTier: "git_root",
      promptHash,
      method: "POST",
      path,
      sourceWorkdir: "/home/me/web",
      host,
      api: "anthropic.messages",
      providerResponseId: id,
      client: "node",
    });
    assert.match(record!.requestId, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.deepEqual(rig.counts, { connections: 1, metered: 1 });
  });

  it("records a call that a budget refused as blocked: it used and cost nothing, and did not fail", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    const blocked: TapFrame = { kind: "blocked", connection: 1, budget: "day" };
    rig.capture.frames([blocked]);
    connection.pass("request", requestBytes(JSON.stringify(request)), 0);
    connection.pass(
      "response",
      answerBytes('{"type":"error","error":{"type":"billing_error"}}', "", "429 Too Many Requests"),
      1,
    );
    connection.pass("request", requestBytes(JSON.stringify(request)), 2);
    connection.pass("response", answerBytes(), 3);
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ blockedBy, errorClass, httpStatus, costPicoUsd, tokensComplete, model }) => [
        ...[blockedBy, errorClass, httpStatus, costPicoUsd === 0n, tokensComplete, model],
      ]),
      [
        ["day", null, null, true, true, "claude-sonnet-4-5"],
        [null, null, 200, false, true, "claude-sonnet-4-5-20250929"],
      ],
    );
    assert.deepEqual(rig.counts, { connections: 1, blocked: 1, metered: 1 });
  });

  it("counts a call whose process was not found", async () => {
    const attribution = () => ({ attribute: async () => ({ ...nobody, isCallerMissing: true as const }) });
    const rig = createCaptureRig({ ports: { attribution } });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes(JSON.stringify(request), "", path));
    connection.pass("response", answerBytes());
    await rig.capture.settled();
    assert.deepEqual(rig.counts, { connections: 1, metered: 1, caller_not_found: 1 });
  });

  const programs: readonly (readonly [client: string | null, agent: string, name: string | null])[] = [
    ["node", "GeminiCLI/0.9.0/gemini-2.5-pro (linux; x64)", "GeminiCLI"],
    [null, "QwenCode/0.0.14 (linux; x64)", "QwenCode"],
    ["python3", "OpenAI/Python 1.50.0", "python3"],
    ["agent.ts", "GeminiCLI/0.9.0", "agent.ts"],
  ];
  for (const [client, agent, name] of programs) {
    it(`names the program of ${client} with the User-Agent ${agent} ${name}`, async () => {
      const attribution = () => ({ attribute: async () => ({ ...nobody, client }) });
      const rig = createCaptureRig({ ports: { attribution } });
      const connection = rig.connect(host);
      connection.pass("request", requestBytes(JSON.stringify(request), `User-Agent: ${agent}\r\n`, path));
      connection.pass("response", answerBytes());
      await rig.capture.settled();
      assert.equal(rig.records[0]?.client, name);
    });
  }

  const login = "Authorization: Bearer sk-ant-oat01-abc\r\n";
  const overage = "anthropic-ratelimit-unified-overage-in-use: true\r\n";
  for (const [text, requestHeaders, responseHeaders, mode] of [
    ["a Claude login is covered by a plan", login, "", "plan"],
    ["a Claude login beyond its plan's limit pays with credits", login, overage, "credits"],
    ["a call without a credential has unknown billing", "", overage, "unknown"],
  ] as const) {
    it(`records that ${text}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes(JSON.stringify(request), requestHeaders));
      connection.pass("response", answerBytes(message, responseHeaders));
      await rig.capture.settled();
      assert.equal(rig.records[0]?.billingMode, mode);
      assert.ok(!JSON.stringify(rig.records, (_, value) => String(value)).includes("oat01"));
    });
  }

  for (const size of [1, 2, 3, 7, 64, 1_000]) {
    it(`makes the same record of a stream in chunks of ${size} bytes`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      const pass = (direction: "request" | "response", bytes: Buffer) => {
        for (let at = 0; at < bytes.length; at += size) {
          connection.pass(direction, bytes.subarray(at, at + size), at);
        }
      };
      pass("request", requestBytes(JSON.stringify({ ...request, stream: true })));
      pass("response", answerBytes(stream, "Content-Type: text/event-stream\r\n"));
      await rig.capture.settled();
      const [record] = rig.records;
      assert.equal(rig.records.length, 1);
      assert.deepEqual(
        [
          record!.streaming,
          record!.tokensComplete,
          record!.tokens.promptTokens,
          record!.tokens.completionTokens,
        ],
        [true, true, 100, 20],
      );
      assert.equal(record!.promptHash, promptHash);
    });
  }

  it("measures the time to the first byte and to the last", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    const answer = answerBytes(stream, "Content-Type: text/event-stream\r\n");
    connection.pass("request", requestBytes().subarray(0, 20), 10);
    connection.pass("request", requestBytes().subarray(20), 30);
    connection.pass("response", answer.subarray(0, 10), 210.5);
    connection.pass("response", answer.subarray(10, 200), 250);
    connection.pass("response", answer.subarray(200), 999.75);
    await rig.capture.settled();
    const { latencyMs, ttfbMs } = rig.records[0]!;
    assert.equal(latencyMs, 989.75);
    assert.equal(ttfbMs, 200.5);
  });

  it("detects streaming by the response's type if the request does not state it", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes("no JSON"));
    connection.pass("response", answerBytes(stream, "Content-Type: text/event-stream; charset=utf-8\r\n"));
    await rig.capture.settled();
    const { streaming, promptHash: hash, requestedModel, model } = rig.records[0]!;
    assert.deepEqual(
      [streaming, hash, requestedModel, model],
      [true, null, null, "claude-sonnet-4-5-20250929"],
    );
  });

  const encoded: [name: string, header: string, encode: (bytes: string) => Uint8Array][] = [
    ["gzip", "gzip", gzipSync],
    ["Brotli", "br", brotliCompressSync],
    ["raw deflate", "deflate", deflateRawSync],
    ["two encodings", "gzip, br", (text) => brotliCompressSync(gzipSync(text))],
    ["the encoding that is none", " Identity", (text) => Buffer.from(text)],
    ["a header without a value", "", (text) => Buffer.from(text)],
    ["a list with empty members", "identity, ,", (text) => Buffer.from(text)],
  ];
  for (const [name, header, encode] of encoded) {
    it(`decodes requests and responses: ${name}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      const headers = `Content-Encoding: ${header}\r\n`;
      connection.pass("request", requestBytes(encode(JSON.stringify(request)), headers));
      connection.pass("response", answerBytes(encode(message), headers));
      await rig.capture.settled();
      assert.equal(rig.records[0]!.promptHash, promptHash);
      assert.equal(rig.records[0]!.tokens.promptTokens, 100);
    });
  }

  const unreadableBodies: [name: string, header: string, body: Uint8Array][] = [
    ["an encoding that nobody knows", "lzma", Buffer.from("abc")],
    ["more encodings than an honest server chains", "gzip, br, gzip", Buffer.from("abc")],
    ["gzip that is damaged", "gzip", Buffer.from("this is no gzip")],
    ["gzip that is cut", "gzip", gzipSync(message).subarray(0, 40)],
  ];
  for (const [name, header, body] of unreadableBodies) {
    it(`makes a record without counts for ${name}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes());
      connection.pass("response", answerBytes(body, `Content-Encoding: ${header}\r\n`));
      await rig.capture.settled();
      const { tokensComplete, tokens, httpStatus, model, costSource, errorClass } = rig.records[0]!;
      assert.deepEqual(
        [tokensComplete, tokens.promptTokens, httpStatus, model, costSource, errorClass],
        [false, null, 200, "claude-sonnet-4-5", "unpriced", null],
      );
      assert.equal(rig.counts.without_usage, 1);
    });
  }

  it("reads a response that arrives before the request has ended", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    const asked = requestBytes();
    connection.pass("request", asked.subarray(0, asked.length - 10), 0);
    connection.pass(
      "response",
      answerBytes('{"error":{"type":"invalid_request_error"}}', "", "413 Too Large"),
      5,
    );
    connection.close("clean", 9);
    await rig.capture.settled();
    const { httpStatus, errorClass, latencyMs, promptHash: hash } = rig.records[0]!;
    assert.deepEqual([httpStatus, errorClass, latencyMs, hash], [413, "bad_request", 5, null]);
  });

  it("skips interim responses", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes(), 0);
    connection.pass(
      "response",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n",
      1,
    );
    connection.pass("response", answerBytes(), 8);
    await rig.capture.settled();
    assert.deepEqual([rig.records[0]!.httpStatus, rig.records[0]!.ttfbMs], [200, 8]);
  });

  it("makes one record for each of several pipelined requests", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", Buffer.concat([requestBytes(), requestBytes(), requestBytes()]));
    for (const n of [1, 2, 3]) connection.pass("response", answerBytes(message.replace(id, `${id}${n}`)), n);
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ providerResponseId, latencyMs }) => [providerResponseId, latencyMs]),
      [1, 2, 3].map((n) => [`${id}${n}`, n]),
    );
  });

  it("hashes the provider's error message and keeps its code", async () => {
    const rig = createCaptureRig();
    const body = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
    await call(rig, { host, path, body: request }, { status: 529, body });
    const { errorClass, retryable, providerErrorCode, errorMessageHash } = rig.records[0]!;
    assert.deepEqual(
      { errorClass, retryable, providerErrorCode, errorMessageHash },
      {
        errorClass: "server_error",
        retryable: true,
        providerErrorCode: "overloaded_error",
        errorMessageHash: createHash("sha256").update("Overloaded").digest("hex"),
      },
    );
  });

  it("hashes no prompt beyond the limit, but reads the model and the response", async () => {
    const rig = createCaptureRig();
    const body = { ...request, messages: [{ role: "user", content: "x".repeat(5 * 1024 * 1024) }] };
    await call(rig, { host, path, body }, { body: message });
    const { promptHash: hash, requestedModel, tokens } = rig.records[0]!;
    assert.deepEqual([hash, requestedModel, tokens.promptTokens], [null, request.model, 100]);
  });
});

describe("the memory for bodies", () => {
  const body = { ...request, stream: false, messages: [{ role: "user", content: "x".repeat(9_000) }] };

  /** Begins `count` calls at once, with all but the end of each request, then ends them all. */
  async function callTogether(count: number, options: Parameters<typeof createCaptureRig>[0]) {
    const rig = createCaptureRig({ limits: { maxHeldBodyBytes: 50_000 }, ...options });
    const bytes = requestBytes(JSON.stringify(body));
    const connections = Array.from({ length: count }, () => rig.connect(host));
    for (const connection of connections) {
      connection.pass("request", bytes.subarray(0, 4_000));
      connection.pass("request", bytes.subarray(4_000, -1));
    }
    for (const connection of connections) {
      connection.pass("request", bytes.subarray(-1));
      connection.pass(
        "response",
        answerBytes(message.replace(id, `${id}${connections.indexOf(connection)}`)),
      );
      connection.close("clean");
    }
    await rig.capture.settled();
    return rig;
  }

  it("is shared by all calls: a body that does not fit is read without its prompt hash, and counted", async () => {
    const rig = await callTogether(100, {});
    const hashed = rig.records.filter(({ promptHash: hash }) => hash !== null).length;
    assert.ok(hashed >= 3 && hashed <= 5, `${hashed} have a hash`);
    assert.equal(rig.counts.prompt_not_kept, 100 - hashed);
    assert.equal(rig.counts.metered, 100);
    for (const { requestedModel, streaming, tokens } of rig.records) {
      assert.deepEqual([requestedModel, streaming, tokens.promptTokens], [request.model, false, 100]);
    }
  });

  it("is returned when calls end, however they end", async () => {
    const bodies: CapturePorts["bodies"] = {
      isEnabledAnywhere: () => true,
      isEnabledFor: () => false,
      maxBytes: 100_000,
      redact: (text) => ({ ok: true, text, summary: [] }),
      add() {},
    };
    const rig = createCaptureRig({ limits: { maxHeldBodyBytes: 50_000 }, ports: { bodies } });
    const bytes = requestBytes(JSON.stringify(body));
    for (let at = 0; at < 30; at++) {
      const aborted = rig.connect(host);
      aborted.pass("request", bytes.subarray(0, -1));
      aborted.close("client_aborted");
      const whole = rig.connect(host);
      whole.pass("request", requestBytes());
      whole.pass("response", answerBytes(" ".repeat(9_000) + message));
      whole.close("clean");
      await rig.capture.settled();
    }
    const last = rig.connect(host);
    last.pass("request", requestBytes(JSON.stringify({ ...body, pad: "x".repeat(30_000) })));
    last.close("clean");
    await rig.capture.settled();
    assert.equal(rig.counts.prompt_not_kept, undefined);
  });

  it("is returned once a request is read if no body is captured", () => {
    const rig = createCaptureRig({ limits: { maxHeldBodyBytes: 50_000 } });
    for (let at = 0; at < 100; at++) rig.connect(host).pass("request", requestBytes(JSON.stringify(body)));
    assert.equal(rig.counts.prompt_not_kept, undefined);
  });

  it("also limits captured bodies, which are then counted and not stored", async () => {
    const kept: string[] = [];
    const bodies: CapturePorts["bodies"] = {
      isEnabledAnywhere: () => true,
      isEnabledFor: () => true,
      maxBytes: 100_000,
      redact: (text) => ({ ok: true, text, summary: [] }),
      add: ({ direction }) => void kept.push(direction),
    };
    const attribution = () => ({ attribute: async () => ({ ...nobody, bodyCaptureRefused: false }) });
    const rig = await callTogether(20, { ports: { bodies, attribution } });
    const requests = kept.filter((direction) => direction === "request").length;
    assert.equal(rig.counts.prompt_not_kept, 20 - requests);
    assert.equal(rig.counts.body_not_kept, 40 - kept.length);
    assert.ok(requests > 0 && requests < 20);
  });
});

describe("the memory for incomplete messages", () => {
  const target = "/v1/responses";
  const openai = "api.openai.com";
  const calls = 50;
  const limits = { maxHeldMessageBytes: 1_000_000 };
  const totals = { input_tokens: 100, output_tokens: 30, total_tokens: 130 };
  /** A stream whose last event repeats the whole response of 200 kB, with its usage. */
  const streamOf = (at: number) => {
    const response = {
      id: `resp_${String(at).padStart(32, "0")}`,
      model: "gpt-5-mini",
      output: "x".repeat(200_000),
      usage: totals,
    };
    const event = JSON.stringify({ type: "response.completed", response });
    return Buffer.from(`event: response.completed\ndata: ${event}\n\n`);
  };
  const begin = (rig: CaptureRig, at: number) => {
    const connection = rig.connect(openai);
    connection.pass(
      "request",
      requestBytes(JSON.stringify({ model: "gpt-5-mini", stream: true }), "", target),
    );
    const bytes = answerBytes(streamOf(at), "Content-Type: text/event-stream\r\n");
    for (let from = 0; from < bytes.length - 10; from += 16_384)
      connection.pass("response", bytes.subarray(from, Math.min(from + 16_384, bytes.length - 10)));
    return { connection, end: () => connection.pass("response", bytes.subarray(-10)) };
  };

  it("is shared by all calls: each call has a record, and calls without usage due to the limit are counted", async () => {
    const rig = createCaptureRig({ limits });
    for (const { connection, end } of Array.from({ length: calls }, (_, at) => begin(rig, at))) {
      end();
      connection.close("clean");
    }
    await rig.capture.settled();
    const read = rig.records.filter(({ tokens }) => tokens.promptTokens === 100).length;
    assert.ok(read >= 2 && read <= 5, `${read} of ${calls} were read`);
    assert.equal(rig.records.length, calls);
    assert.equal(rig.counts.usage_not_kept, calls - read);
    assert.deepEqual(
      [
        ...new Set(
          rig.records.filter(({ tokensComplete }) => !tokensComplete).map(({ errorClass }) => errorClass),
        ),
      ],
      [null],
    );
  });

  it("is returned when calls end, however they end", async () => {
    const rig = createCaptureRig({ limits });
    for (let at = 0; at < calls; at++) {
      const { connection, end } = begin(rig, at);
      if (at % 2 === 0) end();
      connection.close(at % 2 === 0 ? "clean" : "client_aborted");
      await rig.capture.settled();
    }
    assert.equal(rig.counts.usage_not_kept, undefined);
    assert.equal(rig.records.filter(({ tokens }) => tokens.promptTokens === 100).length, calls / 2);
  });

  it("is returned when meter itself fails", async () => {
    const known = createRegistry();
    const registry: CapturePorts["registry"] = {
      ...known,
      match(endpoint) {
        if (endpoint.path === "/fails") throw new Error("planted");
        return known.match(endpoint);
      },
    };
    const rig = createCaptureRig({ limits, ports: { registry, log: createHeardLog().log } });
    for (let at = 0; at < calls; at++)
      begin(rig, at).connection.pass("request", requestBytes("", "", "/fails"));
    const last = begin(rig, calls);
    last.end();
    last.connection.close("clean");
    await rig.capture.settled();
    assert.deepEqual([rig.counts.capture_failed, rig.counts.usage_not_kept], [calls, undefined]);
    assert.equal(rig.records.at(-1)?.tokens.promptTokens, 100);
  });
});

describe("the end of a call", () => {
  const withoutAnswer: [CloseReason, errorClass: string, retryable: boolean][] = [
    ["clean", "network", true],
    ["client_aborted", "network", false],
    ["upstream_reset", "network", true],
    ["upstream_unreachable", "network", true],
    ["upstream_tls", "network", true],
    ["upstream_timeout", "timeout", true],
    ["proxy_lost", "network", true],
  ];
  for (const [reason, errorClass, retryable] of withoutAnswer) {
    it(`makes a record of a call without a response: ${reason}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes(), 5);
      connection.close(reason, 65);
      await rig.capture.settled();
      const record = rig.records[0]!;
      assert.deepEqual(
        [record.errorClass, record.retryable, record.httpStatus, record.ttfbMs, record.latencyMs],
        [errorClass, retryable, null, null, 60],
      );
      assert.deepEqual(
        [record.model, record.tokensComplete, record.costPicoUsd],
        ["claude-sonnet-4-5", false, null],
      );
      assert.equal(record.promptHash, promptHash);
    });
  }

  for (const reason of ["client_aborted", "upstream_reset", "clean"] as const) {
    it(`keeps the usage of a stream that breaks off: ${reason}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes());
      const answer = answerBytes(stream, "Content-Type: text/event-stream\r\n");
      connection.pass("response", answer.subarray(0, answer.length - 150), 1);
      connection.close(reason, 2);
      await rig.capture.settled();
      const { tokens, tokensComplete, errorClass, retryable } = rig.records[0]!;
      assert.deepEqual(
        [tokens.promptTokens, tokensComplete, errorClass, retryable],
        [100, false, "network", reason !== "client_aborted"],
      );
    });
  }

  for (const reason of ["client_aborted", "upstream_reset", "upstream_timeout"] as const) {
    it(`has the class of the error that the provider stated before it: ${reason}`, async () => {
      for (const [head, body] of [
        ["HTTP/1.1 429 Too Many Requests\r\nContent-Length: 900\r\n\r\n", '{"type":"error"'],
        [
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 900\r\n\r\n",
          'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"m"}}\n\n',
        ],
      ]) {
        const rig = createCaptureRig();
        const connection = rig.connect(host);
        connection.pass("request", requestBytes());
        connection.pass("response", new TextEncoder().encode(`${head}${body}`), 1);
        connection.close(reason, 2);
        await rig.capture.settled();
        const { errorClass, retryable } = rig.records[0]!;
        assert.deepEqual([errorClass, retryable], ["rate_limit", true], head);
      }
    });
  }

  // A client that closes with FIN or close_notify aborts its call, like one that resets.
  const clientFin = { kind: "ended", connection: 1, direction: "request", atMs: 2 } as const;
  const answerSoFar = answerBytes(stream, "Content-Type: text/event-stream\r\n").subarray(0, -150);
  const abandoned = [
    ["before the answer", null, "ended"],
    ["before the answer", null, "clean"],
    ["before the answer", null, "upstream_reset"],
    ["before the answer", null, "client_aborted"],
    ["inside the answer", answerSoFar, "ended"],
    ["inside the answer", answerSoFar, "clean"],
    ["inside the answer", answerSoFar, "upstream_reset"],
    ["inside the answer", answerSoFar, "client_aborted"],
  ] as const;
  for (const [when, answered, then] of abandoned) {
    it(`treats a client's FIN ${when}, then ${then}, as an abort by the client`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes());
      if (answered !== null) connection.pass("response", answered, 1);
      rig.capture.frames([clientFin]);
      if (then === "ended") rig.capture.frames([{ ...clientFin, direction: "response", atMs: 3 }]);
      connection.close(then === "ended" ? "clean" : then, 4);
      await rig.capture.settled();
      const [{ tokens, errorClass, retryable }] = rig.records as [RequestRecord];
      assert.deepEqual(
        [rig.records.length, tokens.promptTokens, errorClass, retryable],
        [1, answered === null ? null : 100, "network", false],
      );
    });
  }

  it("treats a response as complete that ends after the client's FIN", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    rig.capture.frames([clientFin]);
    connection.pass("response", answerBytes(), 3);
    connection.close("clean", 4);
    await rig.capture.settled();
    assert.deepEqual([rig.records[0]!.errorClass, rig.records[0]!.tokensComplete], [null, true]);
  });

  it("treats a response as cut off if the upstream ends before the client's FIN", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerSoFar, 1);
    rig.capture.frames([{ ...clientFin, direction: "response" }, clientFin]);
    connection.close("clean", 4);
    await rig.capture.settled();
    assert.deepEqual([rig.records[0]!.errorClass, rig.records[0]!.retryable], ["network", true]);
  });

  it("records a call that was queued behind an upgrade request, and before a FIN", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    const upgrade = `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`;
    connection.pass("request", Buffer.concat([Buffer.from(upgrade), requestBytes()]));
    rig.capture.frames([clientFin]);
    connection.pass("response", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 3);
    connection.pass("response", answerBytes(), 3);
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ errorClass, tokensComplete }) => [errorClass, tokensComplete]),
      [[null, true]],
    );
  });

  it("treats a response without framing as complete if the provider reports its end", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    rig.capture.frames([]);
    connection.pass("request", requestBytes());
    connection.pass("response", `HTTP/1.1 200 OK\r\n\r\n${message}`, 3);
    assert.equal(rig.records.length, 0);
    rig.capture.frames([{ kind: "ended", connection: 1, direction: "response", atMs: 4 }]);
    await rig.capture.settled();
    assert.deepEqual([rig.records[0]!.tokensComplete, rig.records[0]!.latencyMs], [true, 4]);
  });

  it("treats the end of a side as a cut if the framing announces more", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", `HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n${message}`, 3);
    rig.capture.frames([{ kind: "ended", connection: 1, direction: "response", atMs: 4 }]);
    await rig.capture.settled();
    assert.deepEqual([rig.records[0]!.errorClass, rig.records[0]!.retryable], ["network", true]);
  });

  it("counts lost frames and ignores the rest of the connection", async () => {
    const rig = createCaptureRig({ ports: { monotonicMs: () => 40 } });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes(), 0);
    connection.pass("response", answerBytes().subarray(0, 90), 1);
    rig.capture.frames([{ kind: "lost", connection: 1 }]);
    connection.pass("response", answerBytes().subarray(120), 2);
    connection.close();
    await rig.capture.settled();
    assert.equal(rig.records.length, 1);
    assert.deepEqual([rig.records[0]!.tokensComplete, rig.records[0]!.latencyMs], [false, 40]);
    assert.deepEqual([rig.counts.lost, rig.counts.metered], [1, undefined]);
  });

  it("counts an unreadable connection, ends its calls and logs the reason", async () => {
    const { heard, log } = createHeardLog();
    const rig = createCaptureRig({ ports: { log } });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass(
      "response",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    );
    connection.pass("response", answerBytes());
    connection.close();
    await rig.capture.settled();
    assert.equal(rig.counts.unreadable, 1);
    assert.equal(rig.records.length, 1);
    assert.deepEqual([rig.records[0]!.errorClass, rig.records[0]!.tokensComplete], [null, false]);
    assert.deepEqual(
      heard.map(({ event, host: named }) => [event, named]),
      [["capture.unreadable", host]],
    );
  });
});

describe("a response that the client got and the meter could not read", () => {
  const long = `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\nContent-Length: 2\r\n\r\n{}`;
  const badChunk = "Transfer-Encoding: chunked\r\n\r\nnothing";
  const responses: [name: string, response: string, status: number | null, errorClass: string | null][] = [
    ["lines that end with a line feed only", "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", null, null],
    ["headers of 100 KB", long, null, null],
    ["a broken chunk", `HTTP/1.1 200 OK\r\n${badChunk}`, 200, null],
    ["a broken chunk of an error", `HTTP/1.1 429 Too Many\r\n${badChunk}`, 429, "rate_limit"],
  ];
  for (const [name, response, status, errorClass] of responses)
    it(`is not a network failure, and counts only as unreadable: ${name}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes());
      connection.pass("response", response);
      connection.close();
      await rig.capture.settled();
      const [record] = rig.records;
      assert.deepEqual(
        [record!.httpStatus, record!.errorClass, record!.costPicoUsd],
        [status, errorClass, null],
      );
      const { unreadable, metered, without_usage, lost } = rig.counts;
      assert.deepEqual([unreadable, metered, without_usage, lost], [1, undefined, undefined, undefined]);
    });
});

describe("an address that other programs share", () => {
  const shared = "opencode.ai";
  const garbage = "\u0000\u0001 nonsense\r\n\r\n";

  it("counts only its metered calls", async () => {
    const { heard, log } = createHeardLog();
    const rig = createCaptureRig({ ports: { log } });
    await call(rig, { host: shared, path: "/docs", method: "GET", body: {} }, { body: "{}" });
    await call(rig, { host: shared, path: "/zen/v1/models", method: "GET", body: {} }, { body: "{}" });
    rig.connect(shared).pass("request", garbage);
    rig.connect(shared).pass("request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    rig.capture.frames([{ kind: "lost", connection: 4 }]);
    await rig.capture.settled();
    assert.deepEqual(rig.counts, {});
    assert.deepEqual(heard, []);
    await call(rig, { host: shared, path: "/zen/v1/messages", body: {} }, { body: message });
    assert.equal(rig.counts.metered, 1);
    assert.equal(rig.records.length, 1);
  });

  it("counts what is lost after a metered call on the same connection", async () => {
    const rig = createCaptureRig();
    rig.connect(shared).pass("request", requestBytes(undefined, "", "/zen/v1/messages"));
    rig.capture.frames([{ kind: "lost", connection: 1 }]);
    await rig.capture.settled();
    assert.equal(rig.counts.lost, 1);
  });
});

describe("unlisted hosts", () => {
  const tunnelled = { kind: "tunnelled", connection: 1, atMs: 0, port: 443, clientPort: 1 } as const;

  function count(frames: readonly TapFrame[]): [host: string | null, kind: string][] {
    const counted: [string | null, string][] = [];
    const rig = createCaptureRig({
      ports: {
        coverage: {
          count: (host, kind) => void counted.push([host, kind]),
          begin: () => () => {},
        },
      },
    });
    rig.capture.frames(frames);
    return counted.filter(([, kind]) => kind.startsWith("unlisted"));
  }

  it("are counted by address and API", () => {
    assert.deepEqual(
      count([
        { kind: "unlisted", connection: 1, host: "GPU-box", port: 8001, api: "openai" },
        { kind: "unlisted", connection: 2, host: "gate.corp.test", port: 80, api: "anthropic" },
        { kind: "unlisted", connection: 3, host: "fd00::1", port: 8001, api: "gemini" },
      ]),
      [
        ["gpu-box:8001", "unlisted_openai"],
        ["gate.corp.test", "unlisted_anthropic"],
        ["[fd00::1]:8001", "unlisted_gemini"],
      ],
    );
  });

  it("are named in a tunnel only if they are known AI services", () => {
    assert.deepEqual(
      count([
        { ...tunnelled, host: "www.example.com", reason: "not_provider" },
        { ...tunnelled, host: "api2.cursor.sh", reason: "not_provider" },
        { ...tunnelled, host: "llm.corp.test", port: 8443, reason: "not_provider" },
        { ...tunnelled, host: "api2.cursor.sh", reason: "other_user" },
        { ...tunnelled, host: "llm.corp.test", port: 80, reason: "not_provider", isPlain: true },
      ]),
      [
        ["api2.cursor.sh", "unlisted_tunnel"],
        ["llm.corp.test:8443", "unlisted_tunnel"],
      ],
    );
  });

  it("can't fill the database with names", () => {
    const frames = (hosts: readonly string[]) =>
      hosts.map(
        (host, index) => ({ kind: "unlisted", connection: index, host, port: 80, api: "openai" }) as const,
      );
    const many = (make: (n: number) => string) => Array.from({ length: 500 }, (_, n) => make(n));
    const named = (hosts: readonly string[]) =>
      new Set(count(frames(hosts)).flatMap(([host]) => host ?? [])).size;
    assert.equal(named(many((n) => `x${n}.evil.test`)), 8);
    assert.equal(named(many((n) => `x${n}.test${n}`)), 64);
    assert.equal(named(many((n) => `10.0.${n % 250}.${n >> 3}`)), 8);
    assert.equal(named(["a b.test", "x".repeat(300), "<script>.test"]), 0);
    assert.equal(count(frames(many((n) => `x${n}.evil.test`))).length, 500);
  });
});

describe("unmetered traffic", () => {
  it("does not include a call whose target has the absolute form", async () => {
    const rig = createCaptureRig();
    await call(rig, { host, path: `https://${host}/v1/messages`, body: {} }, { body: "{}" });
    assert.deepEqual([rig.records.length, rig.counts.unknown_path], [1, undefined]);
  });

  it("counts calls without usage and unknown calls, without records", async () => {
    const rig = createCaptureRig();
    const ask = (target: string, method = "POST") =>
      call(rig, { host, path: target, method, body: {} }, { body: "{}" });
    await ask("/v1/messages/count_tokens");
    await ask("/v1/models", "GET");
    await ask("/v9/unheard-of");
    assert.deepEqual(rig.counts, { connections: 3, free: 2, unknown_path: 1 });
    assert.equal(rig.records.length, 0);
  });

  it("ignores a connection to a host that is not a provider's", async () => {
    const rig = createCaptureRig();
    await call(rig, { host: "example.test", path: "/", body: {} }, { body: "{}" });
    assert.deepEqual(rig.counts, { connections: 1 });
  });

  it("counts tunnels by reason, with the host only if it is a provider's", () => {
    const counted: [string | null, string][] = [];
    const rig = createCaptureRig({
      ports: { coverage: { count: (named, what) => counted.push([named, what]), begin: () => () => {} } },
    });
    const reasons = ["not_provider", "http2_only", "sni_mismatch", "not_tls", "no_certificate"] as const;
    rig.capture.frames(
      reasons.map((reason, index): TapFrame => {
        const clientPort = 50_000 + index;
        return {
          kind: "tunnelled",
          connection: index,
          atMs: 0,
          host: "secret.test",
          port: 443,
          reason,
          clientPort,
        };
      }),
    );
    assert.deepEqual(counted, [
      [null, "tunnelled_not_provider"],
      ...reasons.slice(1).map((reason) => ["secret.test", `tunnelled_${reason}`]),
    ]);
  });

  it("names a request to an unknown path, without its ids and its query", async () => {
    const named: unknown[] = [];
    const rig = createCaptureRig({
      ports: { coverage: { count: (...words) => named.push(words), begin: () => () => {} } },
    });
    await call(rig, { host, path: "/v9/files/file-7f3a/new?key=secret", body: {} }, { body: "{}" });
    assert.deepEqual(named.at(-1), [host, "unknown_path", { method: "POST", path: "/v9/files/{id}/new" }]);
  });

  it("counts a connection that was closed before its ClientHello as closed unused", () => {
    const rig = createCaptureRig();
    const unused = { connection: 1, atMs: 0, host: "api.anthropic.com", clientPort: 50_000 };
    rig.capture.frames([{ kind: "closed_unused", ...unused }]);
    assert.deepEqual(rig.counts, { closed_unused: 1 });
  });

  it("counts a WebSocket that it can't read, and ignores its bytes", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect("api.openai.com");
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    connection.pass("request", `GET /v1/realtime?model=x HTTP/1.1\r\nHost: api.openai.com\r\n${upgrade}\r\n`);
    connection.pass(
      "response",
      `HTTP/1.1 101 Switching Protocols\r\n${upgrade}Sec-WebSocket-Extensions: something-new\r\n\r\n`,
    );
    connection.pass("request", "\u0001\u0002");
    connection.close();
    await rig.capture.settled();
    assert.equal(rig.counts.websocket, 1);
    assert.equal(rig.records.length, 0);
  });

  it("ignores an upgrade on a path that is not metered", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    const upgrade = "Connection: Upgrade\r\nUpgrade: something\r\n";
    connection.pass("request", `GET /v9/new HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\n`);
    connection.pass("response", `HTTP/1.1 101 Switching\r\n${upgrade}\r\n`);
    connection.close();
    await rig.capture.settled();
    assert.deepEqual(rig.counts, { connections: 1, unknown_path: 1 });
  });

  it("ignores frames of unknown connections", () => {
    const rig = createCaptureRig();
    const connection = 99;
    rig.capture.frames([
      { kind: "labelled", connection, project: "x" },
      { kind: "data", connection, direction: "request", bytes: requestBytes(), atMs: 0 },
      { kind: "ended", connection, direction: "request", atMs: 0 },
      { kind: "lost", connection },
      { kind: "closed", connection, atMs: 0, reason: "clean", code: null },
    ]);
    assert.deepEqual(rig.counts, {});
  });
});

describe("attribution", () => {
  /** Records the lookups and their headers. */
  function createLookUps() {
    const lookedUp: (number | string | null)[][] = [];
    const attribution: CapturePorts["attribution"] = ({ clientPort, proxyUser }) => {
      lookedUp.push([clientPort, proxyUser]);
      return { attribute: async (label) => ({ ...nobody, project: `${clientPort} ${label}` }) };
    };
    return { lookedUp, attribution };
  }
  const calling = (clientPort: number): TapFrame => ({
    kind: "calling",
    connection: 0,
    clientPort,
    proxyUser: "web",
  });
  const ask = (connection: RigConnection, headers = "") => {
    connection.pass("request", requestBytes(JSON.stringify(request), headers));
    connection.pass("response", answerBytes(message.replace(id, `${id}${Math.random()}`)));
  };

  it("looks up the client once, when its connection opens", async () => {
    const { lookedUp, attribution } = createLookUps();
    const rig = createCaptureRig({ ports: { attribution } });
    const connection = rig.connect(host);
    ask(connection);
    ask(connection);
    await rig.capture.settled();
    assert.deepEqual(lookedUp, [[50_001, null]]);
    assert.deepEqual(
      rig.records.map(({ project }) => project),
      ["50001 null", "50001 null"],
    );
  });

  it("uses the lookup that began with the CONNECT, for that connection only", async () => {
    const { lookedUp, attribution } = createLookUps();
    const rig = createCaptureRig({ ports: { attribution } });
    rig.capture.frames([calling(50_001), calling(50_009)]);
    ask(rig.connect(host));
    assert.deepEqual(lookedUp, [
      [50_001, "web"],
      [50_009, "web"],
    ]);
    const tunnelled = { kind: "tunnelled", connection: 7, atMs: 0, port: 443, reason: "not_tls" } as const;
    rig.capture.frames([{ ...tunnelled, host, clientPort: 50_009 }]);
    await rig.capture.settled();
  });

  it("limits the lookups of clients that never open a connection", () => {
    const { lookedUp, attribution } = createLookUps();
    const rig = createCaptureRig({ ports: { attribution } });
    rig.capture.frames(Array.from({ length: 300 }, (_, n) => calling(n === 0 ? 50_001 : n)));
    rig.connect(host);
    assert.equal(lookedUp.length, 301, "the oldest was let go, so its client is looked up again");
  });

  it("applies the gateway's label to the next request only, after the request's own header", async () => {
    const { attribution } = createLookUps();
    const rig = createCaptureRig({ ports: { attribution } });
    const connection = rig.connect(host);
    const label = (project: string) => rig.capture.frames([{ kind: "labelled", connection: 1, project }]);
    label("first");
    ask(connection);
    ask(connection);
    label("second");
    ask(connection, "X-Meter-Project: header\r\n");
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ project }) => project),
      ["50001 first", "50001 null", "50001 header"],
    );
  });
});

describe("failures of capture itself", () => {
  function createFailing(ports: Partial<CapturePorts>) {
    const { heard, log } = createHeardLog();
    return { heard, rig: createCaptureRig({ ports: { log, ...ports } }) };
  }
  const failure = (error: string) => [{ event: "capture.failed", host, error }];

  it("loses only the calls of one connection if a frame can't be handled", async () => {
    const registry = createRegistry();
    let calls = 0;
    const { rig, heard } = createFailing({
      registry: {
        ...registry,
        match(address) {
          if (++calls === 2) throw new RangeError("quoting what passed");
          return registry.match(address);
        },
      },
    });
    const [broken, whole] = [rig.connect(host), rig.connect(host)];
    broken.pass("request", requestBytes());
    broken.pass("request", requestBytes());
    broken.pass("response", answerBytes());
    broken.close();
    whole.pass("request", requestBytes());
    whole.pass("response", answerBytes());
    await rig.capture.settled();
    assert.deepEqual(heard, failure("RangeError"));
    assert.equal(rig.counts.capture_failed, 1);
    assert.equal(rig.records.length, 1);
  });

  it("loses a call whose attribution rejects", async () => {
    const thrown = "not even an error";
    const { rig, heard } = createFailing({
      attribution: () => ({ attribute: () => Promise.reject(thrown) }),
    });
    await call(rig, { host, path, body: request }, { body: message });
    assert.deepEqual(heard, failure("string"));
    assert.deepEqual(rig.counts, { connections: 1, capture_failed: 1 });
  });

  it("loses a call whose reader fails, also in a decoder's callback", async () => {
    const { rig, heard } = createFailing({
      createDecoder: (_, sink) => ({
        push() {
          setImmediate(() => {
            const bytes = Object.defineProperty(new Uint8Array(3), "length", {
              get() {
                throw new TypeError("quoting what passed");
              },
            });
            sink.bytes(bytes);
            sink.bytes(new Uint8Array(1));
            sink.ended("whole");
          });
        },
        end() {},
      }),
    });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerBytes("x", "Content-Encoding: gzip\r\n"));
    connection.close();
    await rig.capture.settled();
    assert.deepEqual(heard, failure("TypeError"));
    assert.equal(rig.records.length, 0);
  });

  it("drops a frame without a connection that can't be handled", () => {
    const { rig, heard } = createFailing({
      attribution() {
        throw new Error("no look-up");
      },
    });
    rig.capture.frames([{ kind: "calling", connection: 0, clientPort: 1, proxyUser: null }]);
    assert.deepEqual(heard, []);
  });
});

describe("a known caller", () => {
  const known: CallAttribution = { ...nobody, project: "known", bodyCaptureRefused: false };
  const git = { branch: "main", commit: null, pullRequest: null, remote: null };
  const source = { attribute: async () => known, known: () => known, git: () => git };

  it("lets the record and its bodies be stored before the next frame is read", async () => {
    const bodies: string[] = [];
    const rig = createCaptureRig({
      ports: {
        attribution: () => source,
        bodies: {
          isEnabledAnywhere: () => true,
          isEnabledFor: (project) => project === "known",
          maxBytes: 100_000,
          redact: (text) => ({ ok: true, text, summary: [] }),
          add: ({ direction }) => void bodies.push(direction),
        },
      },
    });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerBytes());
    assert.deepEqual(
      rig.records.map(({ project, gitBranch }) => [project, gitBranch]),
      [["known", "main"]],
    );
    assert.deepEqual(bodies, ["request", "response"]);
    assert.equal(rig.unfinished.count, 0);
    await rig.capture.settled();
    assert.equal(rig.records.length, 1);
  });

  it("counts a record that can't be created as a failure", async () => {
    const heard: string[] = [];
    const rig = createCaptureRig({
      ports: {
        attribution: () => source,
        log: { debug() {}, info() {}, warn() {}, error: (event) => void heard.push(event) },
        prices() {
          throw new Error("no price book");
        },
      },
    });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerBytes());
    assert.deepEqual(rig.records, []);
    assert.equal(rig.unfinished.count, 0);
    await rig.capture.settled();
    assert.equal(rig.counts.capture_failed, 1);
    assert.deepEqual(heard, ["capture.failed"]);
  });
});

describe("a slow lookup of the caller", () => {
  const early: CallAttribution = { ...nobody, project: "early", tier: "default_project", client: null };
  const late: CallAttribution = {
    ...nobody,
    project: "late",
    tier: "git_root",
    client: "claude",
    workdir: "/w/late",
  };

  function setUp(more: Partial<CapturePorts> = {}) {
    const lookup = Promise.withResolvers<CallAttribution>();
    const source = { attribute: () => lookup.promise, provisional: () => early };
    const heard: string[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (event: LogEvent) => void heard.push(event) };
    const rig = createCaptureRig({ ports: { attribution: () => source, log, ...more } });
    return { rig, lookup, heard };
  }
  const known = ({ project, attributionTier, client, sourceWorkdir, attributionDueAt }: RequestRecord) => [
    project,
    attributionTier,
    client,
    sourceWorkdir,
    attributionDueAt,
  ];

  it("stores the record at once, and its caller once it is known", async () => {
    const { rig, lookup } = setUp();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerBytes());
    await new Promise(setImmediate);
    const [record] = rig.records;
    assert.deepEqual(record && known(record), [
      "early",
      "default_project",
      null,
      null,
      rigStart + ATTRIBUTION_DUE_MS,
    ]);
    assert.equal(rig.unfinished.count, 0);
    let isIdle = false;
    const idle = rig.capture.settled().then(() => {
      isIdle = true;
    });
    await new Promise(setImmediate);
    assert.equal(isIdle, false);
    lookup.resolve(late);
    await idle;
    assert.equal(rig.records.length, 1);
    const [stored] = rig.stored.values();
    assert.deepEqual(stored && known(stored), ["late", "git_root", "claude", "/w/late", undefined]);
  });

  it("stores the state of the working tree when the call began", async () => {
    const lookup = Promise.withResolvers<CallAttribution>();
    const branches = ["main", "topic"];
    const source: ConnectionAttribution = {
      attribute: () => lookup.promise,
      provisional: () => early,
      git: async () => ({
        branch: branches.shift() ?? null,
        commit: "c0ffee",
        remote: "github.com/acme/shop",
        pullRequest: 12,
      }),
    };
    const rig = createCaptureRig({ ports: { attribution: () => source } });
    const gitOf = ({ gitBranch, gitCommit, gitRemote, pullRequest }: RequestRecord) => [
      gitBranch,
      gitCommit,
      gitRemote,
      pullRequest,
    ];
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("request", requestBytes());
    assert.deepEqual(branches, [], "read before the responses");
    connection.pass("response", answerBytes());
    connection.pass("response", answerBytes(message.replace(id, "msg_second")));
    await new Promise(setImmediate);
    assert.deepEqual(rig.records.map(gitOf), [
      [null, null, null, null],
      [null, null, null, null],
    ]);
    lookup.resolve(late);
    await rig.capture.settled();
    assert.deepEqual([...rig.stored.values()].map(gitOf), [
      ["main", "c0ffee", "github.com/acme/shop", 12],
      ["topic", "c0ffee", "github.com/acme/shop", 12],
    ]);
  });

  it("stores bodies for a project that is found only after the call", async () => {
    const bodies: CapturePorts["bodies"] = {
      isEnabledAnywhere: () => true,
      isEnabledFor: (project) => project === "late",
      maxBytes: 100_000,
      redact: (text) => ({ ok: true, text, summary: [] }),
      add: ({ direction, originalSizeBytes }) => void stored.push([direction, originalSizeBytes]),
    };
    const stored: unknown[] = [];
    const { rig, lookup } = setUp({ bodies });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerBytes());
    await new Promise(setImmediate);
    assert.deepEqual(stored, []);
    lookup.resolve({ ...late, bodyCaptureRefused: false });
    await rig.capture.settled();
    assert.deepEqual(stored, [
      ["request", Buffer.byteLength(JSON.stringify(request))],
      ["response", Buffer.byteLength(message)],
    ]);
  });

  it("leaves the record unchanged if the lookup fails", async () => {
    const { rig, lookup, heard } = setUp();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerBytes());
    await new Promise(setImmediate);
    lookup.reject(new TypeError("no"));
    await rig.capture.settled();
    const [stored] = rig.stored.values();
    assert.equal(stored?.project, "early");
    assert.deepEqual(heard, ["capture.failed"]);
  });
});

describe("stopping capture", () => {
  it("lists the connections that are between requests", async () => {
    const rig = createCaptureRig();
    const [idle, asking, answered, unreadable] = [host, host, host, host].map((name) => rig.connect(name));
    asking!.pass("request", requestBytes(), 5);
    answered!.pass("request", requestBytes(), 6);
    answered!.pass("response", answerBytes(), 7);
    unreadable!.pass("request", "\u0000\u0001 nonsense\r\n\r\n", 8);
    await new Promise(setImmediate);
    assert.deepEqual(
      rig.capture.idleConnections().map(({ connection, lastAtMs }) => [connection, lastAtMs]),
      [
        [1, 0],
        [3, 7],
      ],
    );
    idle!.close();
    assert.deepEqual(
      rig.capture.idleConnections().map(({ connection }) => connection),
      [3],
    );
  });

  it("settles at once if no call is in progress, otherwise with the last record", async () => {
    let found = (_: CallAttribution) => {};
    const attribute = () => new Promise<CallAttribution>((resolve) => (found = resolve));
    const rig = createCaptureRig({ ports: { attribution: () => ({ attribute }) } });
    await rig.capture.settled();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerBytes());
    let idle = 0;
    const waiting = [rig.capture.settled(), rig.capture.settled()].map((each) => each.then(() => idle++));
    await new Promise(setImmediate);
    assert.equal(idle, 0);
    found(nobody);
    await Promise.all(waiting);
    assert.equal(rig.records.length, 1);
  });
});
