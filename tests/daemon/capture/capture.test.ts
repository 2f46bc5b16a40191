import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateRawSync, gzipSync } from "node:zlib";
import type { LogEvent } from "../../../core/ports/log.ts";
import { createRegistry } from "../../../core/usage/mod.ts";
import type { CallAttribution, CapturePorts } from "../../../daemon/capture/ports.ts";
import type { CloseReason, TapFrame } from "../../../daemon/proxy/tap-frames.ts";
import { call, createCaptureRig, type RigConnection, rigStart } from "./capture-rig.ts";

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

/** A log that keeps what it is told. */
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

describe("createCapture() and one call", () => {
  it("makes the record of an answer in one piece, with every field", async () => {
    const rig = createCaptureRig({
      ports: {
        monotonicMs: () => 1_500,
        attribution: () => ({
          attribute: async () => ({ ...nobody, workdir: "/home/me/web", client: "node", tier: "git_root" }),
        }),
      },
    });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes(JSON.stringify(request), "", `${path}?beta=true`), 1_000.25);
    connection.pass("response", answerBytes(), 1_100.5);
    await rig.capture.idle();
    const [record] = rig.records;
    assert.deepEqual(record, {
      // 499.75 ms before now on the clock that never jumps, whole milliseconds on the calendar.
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
      // 100 at $3, 10 at $0.30 and 20 at $15 for a million.
      costPicoUsd: 300_000_000n + 3_000_000n + 300_000_000n,
      costSource: "computed",
      providerCostPicoUsd: null,
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

  for (const size of [1, 2, 3, 7, 64, 1_000]) {
    it(`makes the same record of a stream in pieces of ${size} bytes`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      const pass = (direction: "request" | "response", bytes: Buffer) => {
        for (let at = 0; at < bytes.length; at += size) {
          connection.pass(direction, bytes.subarray(at, at + size), at);
        }
      };
      pass("request", requestBytes(JSON.stringify({ ...request, stream: true })));
      pass("response", answerBytes(stream, "Content-Type: text/event-stream\r\n"));
      await rig.capture.idle();
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

  it("measures to the first byte and to the last one", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    const answer = answerBytes(stream, "Content-Type: text/event-stream\r\n");
    connection.pass("request", requestBytes().subarray(0, 20), 10);
    connection.pass("request", requestBytes().subarray(20), 30);
    connection.pass("response", answer.subarray(0, 10), 210.5);
    connection.pass("response", answer.subarray(10, 200), 250);
    connection.pass("response", answer.subarray(200), 999.75);
    await rig.capture.idle();
    const { latencyMs, ttfbMs } = rig.records[0]!;
    assert.equal(latencyMs, 989.75);
    assert.equal(ttfbMs, 200.5);
  });

  it("goes by the answer's type where the request does not say whether it streams", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes("no JSON"));
    connection.pass("response", answerBytes(stream, "Content-Type: text/event-stream; charset=utf-8\r\n"));
    await rig.capture.idle();
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
    it(`reads what is encoded both ways: ${name}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      const headers = `Content-Encoding: ${header}\r\n`;
      connection.pass("request", requestBytes(encode(JSON.stringify(request)), headers));
      connection.pass("response", answerBytes(encode(message), headers));
      await rig.capture.idle();
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
    it(`has a record without counts for ${name}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes());
      connection.pass("response", answerBytes(body, `Content-Encoding: ${header}\r\n`));
      await rig.capture.idle();
      const { tokensComplete, tokens, httpStatus, model, costSource, errorClass } = rig.records[0]!;
      assert.deepEqual(
        [tokensComplete, tokens.promptTokens, httpStatus, model, costSource, errorClass],
        [false, null, 200, "claude-sonnet-4-5", "unpriced", null],
      );
      assert.equal(rig.counts.without_usage, 1);
    });
  }

  it("takes an answer that comes before its request is over", async () => {
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
    await rig.capture.idle();
    const { httpStatus, errorClass, latencyMs, promptHash: hash } = rig.records[0]!;
    assert.deepEqual([httpStatus, errorClass, latencyMs, hash], [413, "bad_request", 5, null]);
  });

  it("skips interim answers", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes(), 0);
    connection.pass(
      "response",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n",
      1,
    );
    connection.pass("response", answerBytes(), 8);
    await rig.capture.idle();
    assert.deepEqual([rig.records[0]!.httpStatus, rig.records[0]!.ttfbMs], [200, 8]);
  });

  it("makes one record for each of several requests sent at once", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", Buffer.concat([requestBytes(), requestBytes(), requestBytes()]));
    for (const n of [1, 2, 3]) connection.pass("response", answerBytes(message.replace(id, `${id}${n}`)), n);
    await rig.capture.idle();
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

  it("keeps no more of a request than it reads, and reads its answer all the same", async () => {
    const rig = createCaptureRig();
    const body = { ...request, messages: [{ role: "user", content: "x".repeat(5 * 1024 * 1024) }] };
    await call(rig, { host, path, body }, { body: message });
    const { promptHash: hash, requestedModel, tokens } = rig.records[0]!;
    assert.deepEqual([hash, requestedModel, tokens.promptTokens], [null, null, 100]);
  });
});

describe("createCapture() and how a call ends", () => {
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
    it(`has a record of a call without an answer: ${reason}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes(), 5);
      connection.close(reason, 65);
      await rig.capture.idle();
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
    it(`keeps what a stream told until it broke off: ${reason}`, async () => {
      const rig = createCaptureRig();
      const connection = rig.connect(host);
      connection.pass("request", requestBytes());
      const answer = answerBytes(stream, "Content-Type: text/event-stream\r\n");
      connection.pass("response", answer.subarray(0, answer.length - 150), 1);
      connection.close(reason, 2);
      await rig.capture.idle();
      const { tokens, tokensComplete, errorClass, retryable } = rig.records[0]!;
      assert.deepEqual(
        [tokens.promptTokens, tokensComplete, errorClass, retryable],
        [100, false, "network", reason !== "client_aborted"],
      );
    });
  }

  it("takes an answer without framing for whole when the provider says that it is done", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    rig.capture.frames([]);
    connection.pass("request", requestBytes());
    connection.pass("response", `HTTP/1.1 200 OK\r\n\r\n${message}`, 3);
    assert.equal(rig.records.length, 0);
    rig.capture.frames([{ kind: "ended", connection: 1, direction: "response", atMs: 4 }]);
    await rig.capture.idle();
    assert.deepEqual([rig.records[0]!.tokensComplete, rig.records[0]!.latencyMs], [true, 4]);
  });

  it("takes the end of a side for a cut where the framing says that more comes", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", `HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n${message}`, 3);
    rig.capture.frames([{ kind: "ended", connection: 1, direction: "response", atMs: 4 }]);
    await rig.capture.idle();
    assert.deepEqual([rig.records[0]!.errorClass, rig.records[0]!.retryable], ["network", true]);
  });

  it("counts what the log lost and leaves the rest of the connection alone", async () => {
    const rig = createCaptureRig({ ports: { monotonicMs: () => 40 } });
    const connection = rig.connect(host);
    connection.pass("request", requestBytes(), 0);
    connection.pass("response", answerBytes().subarray(0, 90), 1);
    rig.capture.frames([{ kind: "lost", connection: 1 }]);
    connection.pass("response", answerBytes().subarray(120), 2);
    connection.close();
    await rig.capture.idle();
    assert.equal(rig.records.length, 1);
    assert.deepEqual([rig.records[0]!.tokensComplete, rig.records[0]!.latencyMs], [false, 40]);
    assert.equal(rig.counts.lost, 1);
  });

  it("counts what can't be read, ends its calls, and says why", async () => {
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
    await rig.capture.idle();
    assert.equal(rig.counts.unreadable, 1);
    assert.equal(rig.records.length, 1);
    assert.deepEqual([rig.records[0]!.errorClass, rig.records[0]!.tokensComplete], ["network", false]);
    assert.deepEqual(
      heard.map(({ event, host: named }) => [event, named]),
      [["capture.unreadable", host]],
    );
  });
});

describe("createCapture() and what is not metered", () => {
  it("counts what carries no usage and what nobody knows, each without a record", async () => {
    const rig = createCaptureRig();
    const ask = (target: string, method = "POST") =>
      call(rig, { host, path: target, method, body: {} }, { body: "{}" });
    await ask("/v1/messages/count_tokens");
    await ask("/v1/models", "GET");
    await ask("/v9/unheard-of");
    assert.deepEqual(rig.counts, { connections: 3, free: 2, unknown_path: 1 });
    assert.equal(rig.records.length, 0);
  });

  it("says nothing of a host that is no provider's, were it ever opened", async () => {
    const rig = createCaptureRig();
    await call(rig, { host: "example.test", path: "/", body: {} }, { body: "{}" });
    assert.deepEqual(rig.counts, { connections: 1 });
  });

  it("counts tunnels by their reason, with the host's name only where it is a provider's", () => {
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

  it("counts a WebSocket that it can't read, and its bytes are nobody's", async () => {
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
    await rig.capture.idle();
    assert.equal(rig.counts.websocket, 1);
    assert.equal(rig.records.length, 0);
  });

  it("passes over an upgrade on a path that is not metered", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect(host);
    const upgrade = "Connection: Upgrade\r\nUpgrade: something\r\n";
    connection.pass("request", `GET /v9/new HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\n`);
    connection.pass("response", `HTTP/1.1 101 Switching\r\n${upgrade}\r\n`);
    connection.close();
    await rig.capture.idle();
    assert.deepEqual(rig.counts, { connections: 1, unknown_path: 1 });
  });

  it("passes over frames of connections that it does not know", () => {
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

describe("createCapture() and whose call it is", () => {
  /** Notes who was looked up and with which header. */
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

  it("looks the client up once, when its connection opens", async () => {
    const { lookedUp, attribution } = createLookUps();
    const rig = createCaptureRig({ ports: { attribution } });
    const connection = rig.connect(host);
    ask(connection);
    ask(connection);
    await rig.capture.idle();
    assert.deepEqual(lookedUp, [[50_001, null]]);
    assert.deepEqual(
      rig.records.map(({ project }) => project),
      ["50001 null", "50001 null"],
    );
  });

  it("uses the look-up that began when the client asked, for that connection alone", async () => {
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
    await rig.capture.idle();
  });

  it("keeps a bounded number of look-ups for clients that never come", () => {
    const { lookedUp, attribution } = createLookUps();
    const rig = createCaptureRig({ ports: { attribution } });
    rig.capture.frames(Array.from({ length: 300 }, (_, n) => calling(n === 0 ? 50_001 : n)));
    rig.connect(host);
    assert.equal(lookedUp.length, 301, "the oldest was let go, so its client is looked up again");
  });

  it("takes the label of the gateway for the next request alone, and a header before it", async () => {
    const { attribution } = createLookUps();
    const rig = createCaptureRig({ ports: { attribution } });
    const connection = rig.connect(host);
    const label = (project: string) => rig.capture.frames([{ kind: "labelled", connection: 1, project }]);
    label("first");
    ask(connection);
    ask(connection);
    label("second");
    ask(connection, "X-Meter-Project: header\r\n");
    await rig.capture.idle();
    assert.deepEqual(
      rig.records.map(({ project }) => project),
      ["50001 first", "50001 null", "50001 header"],
    );
  });
});

describe("createCapture() and its own faults", () => {
  function createFailing(ports: Partial<CapturePorts>) {
    const { heard, log } = createHeardLog();
    return { heard, rig: createCaptureRig({ ports: { log, ...ports } }) };
  }
  const failure = (error: string) => [{ event: "capture.failed", host, error }];

  it("loses the calls of one connection, no more, when a frame can't be taken", async () => {
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
    await rig.capture.idle();
    assert.deepEqual(heard, failure("RangeError"));
    assert.equal(rig.counts.capture_failed, 1);
    assert.equal(rig.records.length, 1);
  });

  it("loses a call whose caller can't be found out", async () => {
    const thrown = "not even an error";
    const { rig, heard } = createFailing({
      attribution: () => ({ attribute: () => Promise.reject(thrown) }),
    });
    await call(rig, { host, path, body: request }, { body: message });
    assert.deepEqual(heard, failure("string"));
    assert.deepEqual(rig.counts, { connections: 1, capture_failed: 1 });
  });

  it("loses a call whose reader fails, also in a decoder's own turn", async () => {
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
    await rig.capture.idle();
    assert.deepEqual(heard, failure("TypeError"));
    assert.equal(rig.records.length, 0);
  });

  it("drops a frame of no connection that can't be taken", () => {
    const { rig, heard } = createFailing({
      attribution() {
        throw new Error("no look-up");
      },
    });
    rig.capture.frames([{ kind: "calling", connection: 0, clientPort: 1, proxyUser: null }]);
    assert.deepEqual(heard, []);
  });
});

describe("createCapture() and stopping", () => {
  it("names the connections that are between requests", async () => {
    const rig = createCaptureRig();
    const [idle, asking, answered, unreadable] = [host, host, host, host].map((name) => rig.connect(name));
    asking!.pass("request", requestBytes(), 5);
    answered!.pass("request", requestBytes(), 6);
    answered!.pass("response", answerBytes(), 7);
    unreadable!.pass("request", "\u0000\u0001 nonsense\r\n\r\n", 8);
    await new Promise(setImmediate);
    assert.deepEqual(
      rig.capture.quiet().map(({ connection, lastAtMs }) => [connection, lastAtMs]),
      [
        [1, 0],
        [3, 7],
      ],
    );
    idle!.close();
    assert.deepEqual(
      rig.capture.quiet().map(({ connection }) => connection),
      [3],
    );
  });

  it("is idle at once where nothing is under way, else when the last record is there", async () => {
    let found = (_: CallAttribution) => {};
    const attribute = () => new Promise<CallAttribution>((resolve) => (found = resolve));
    const rig = createCaptureRig({ ports: { attribution: () => ({ attribute }) } });
    await rig.capture.idle();
    const connection = rig.connect(host);
    connection.pass("request", requestBytes());
    connection.pass("response", answerBytes());
    let idle = 0;
    const waiting = [rig.capture.idle(), rig.capture.idle()].map((each) => each.then(() => idle++));
    await new Promise(setImmediate);
    assert.equal(idle, 0);
    found(nobody);
    await Promise.all(waiting);
    assert.equal(rig.records.length, 1);
  });
});
