import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EventStreamCodec } from "@smithy/eventstream-codec";
import fc from "fast-check";
import { classifyError } from "../../../../core/metering/classify/classify-error.ts";
import { createUsageReader } from "../../../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../../core/pricing/price-usage.ts";
import { encodeBase64 } from "../../../../core/wire/base64.ts";
import { bytesOf, countsOf, NO_COUNTS, routeOf } from "./answers.rig.ts";

const decoder = new TextDecoder();
const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : decoder.decode(bytes)),
  bytesOf,
);

const CLAUDE = "us.anthropic.claude-opus-4-6-v1:0";
const address = (model: string, call: string) =>
  `https://bedrock-runtime.us-east-1.amazonaws.com/model/${encodeURIComponent(model)}/${call}`;

/** A message of an event stream as written by AWS's own codec. */
function frame(headers: Readonly<Record<string, string>>, payload: object | string = ""): Uint8Array {
  return codec.encode({
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, { type: "string" as const, value }]),
    ),
    body: bytesOf(typeof payload === "string" ? payload : JSON.stringify(payload)),
  });
}

const event = (type: string, payload: object) =>
  frame({ ":message-type": "event", ":event-type": type, ":content-type": "application/json" }, payload);

/** An event of the model, as wrapped by InvokeModel. */
const chunk = (native: object) =>
  event("chunk", { bytes: encodeBase64(bytesOf(JSON.stringify(native))), p: "abc" });

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

interface Options {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  cuts?: readonly number[];
  complete?: boolean;
}

function read(
  url: string,
  body: object | string | readonly Uint8Array[],
  options: Options = {},
): UsageReport {
  const { status = 200, headers = {}, cuts = [], complete = true } = options;
  const reader = createUsageReader(routeOf(url), {
    status,
    contentType: null,
    streaming: null,
    header: (name) => headers[name] ?? null,
  });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const bytes = Array.isArray(body) ? joined(body) : bytesOf(text);
  let from = 0;
  for (const cut of [...cuts].sort((one, other) => one - other)) {
    reader.push(bytes.slice(from, cut));
    from = cut;
  }
  reader.push(bytes.slice(from));
  return reader.end(complete);
}

const USAGE = {
  inputTokens: 10,
  outputTokens: 7,
  totalTokens: 37,
  cacheReadInputTokens: 12,
  cacheWriteInputTokens: 8,
  cacheDetails: [
    { ttl: "1h", inputTokens: 5 },
    { ttl: "5m", inputTokens: 3 },
  ],
};

describe("bedrockConverse", () => {
  it("reads a complete response, whose parts sum to its total", () => {
    const body = {
      output: {},
      stopReason: "end_turn",
      usage: USAGE,
      serviceTier: { type: "flex" },
      metrics: {},
    };
    const report = read(address(CLAUDE, "converse"), body, { headers: { "x-amzn-requestid": "r-1" } });
    assert.deepEqual(countsOf(report), [10, 12, 8, 5, 7, null]);
    assert.deepEqual(
      [report.model, report.responseId, report.serviceTier, report.tokensComplete, report.unknownUsage],
      [CLAUDE, "r-1", "flex", true, null],
    );
  });

  it("treats absent cache counts as 0", () => {
    const report = read(address("m", "converse"), {
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    });
    assert.deepEqual(countsOf(report), [1, 0, 0, null, 2, null]);
  });

  it("is incomplete if the total exceeds the parts", () => {
    const report = read(address("m", "converse"), {
      usage: { inputTokens: 1, outputTokens: 2, cacheReadInputTokens: 4, totalTokens: 90 },
    });
    assert.deepEqual([countsOf(report), report.tokensComplete], [[1, 4, 0, null, 2, null], false]);
  });

  it("is incomplete if the sum exceeds any count", () => {
    const report = read(address("m", "converse"), { usage: { inputTokens: 2 ** 40, outputTokens: 1 } });
    assert.deepEqual([countsOf(report), report.tokensComplete], [[2 ** 40, 0, 0, null, 1, null], false]);
  });

  it("ignores invalid details", () => {
    const cacheDetails = [{ ttl: "1h", inputTokens: "many" }, null, 7];
    const usage = { inputTokens: 1, outputTokens: 2, cacheWriteInputTokens: 3, cacheDetails };
    assert.deepEqual(countsOf(read(address("m", "converse"), { usage })), [1, 0, 3, 0, 2, null]);
  });

  it("reports unknown counts for a response without usage", () => {
    assert.deepEqual(countsOf(read(address("m", "converse"), {})), NO_COUNTS);
  });

  const stream = [
    event("messageStart", { role: "assistant", p: "ab" }),
    event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: 'a "usage" of words' } }),
    event("messageStop", { stopReason: "end_turn" }),
    event("metadata", { usage: USAGE, metrics: { latencyMs: 5 }, p: "abcdef" }),
  ];

  // Planted once: one byte more expected than a message has, which lost the last one if it was cut.
  it("reads a stream, however it is split", () => {
    const url = address(CLAUDE, "converse-stream");
    const whole = read(url, stream);
    assert.deepEqual(countsOf(whole), [10, 12, 8, 5, 7, null]);
    assert.equal(whole.tokensComplete, true);
    const { length } = joined(stream);
    fc.assert(
      fc.property(fc.array(fc.nat(length), { maxLength: 8 }), (cuts) => {
        assert.deepEqual(read(url, stream, { cuts }), whole);
      }),
    );
  });

  it("reports unknown counts for a truncated or corrupt stream", () => {
    const url = address(CLAUDE, "converse-stream");
    assert.deepEqual(countsOf(read(url, stream.slice(0, 3), { complete: false })), NO_COUNTS);
    const changed = stream.map((part, index) =>
      index === 3 ? part.map((byte) => byte ^ (byte === 0x37 ? 1 : 0)) : part,
    );
    assert.deepEqual(countsOf(read(url, changed)), NO_COUNTS);
  });

  it("reads exceptions sent as messages after a 200", () => {
    const cases: [headers: Readonly<Record<string, string>>, payload: object | string, expected: string][] = [
      [
        { ":message-type": "exception", ":exception-type": "throttlingException" },
        { message: "slow" },
        "throttlingException|slow|rate_limit true",
      ],
      [
        { ":message-type": "exception", ":exception-type": "modelStreamErrorException" },
        { message: "broke", originalStatusCode: 500, originalMessage: "x" },
        "modelStreamErrorException|broke|server_error true",
      ],
      [
        { ":message-type": "exception", ":exception-type": "validationException" },
        { Message: "no" },
        "validationException|no|bad_request false",
      ],
      [
        { ":message-type": "exception", ":exception-type": "serviceUnavailableException" },
        "",
        "serviceUnavailableException|null|server_error true",
      ],
      [
        { ":message-type": "error", ":error-code": "InternalFailure", ":error-message": "oh" },
        "",
        "InternalFailure|oh|server_error true",
      ],
    ];
    for (const [headers, payload, expected] of cases) {
      const { error } = read(address(CLAUDE, "converse-stream"), [
        ...stream.slice(0, 2),
        frame(headers, payload),
      ]);
      const found = classifyError("bedrock", { kind: "answered", status: 200, error, complete: true });
      assert.equal(`${error?.type}|${error?.message}|${found.errorClass} ${found.retryable}`, expected);
    }
  });

  it("uses the error type of the header if the body has none", () => {
    const headers = { "x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/coral/" };
    const report = read(address("m", "converse"), { message: "Too many tokens" }, { status: 429, headers });
    assert.deepEqual([report.error?.type, report.error?.message], ["ThrottlingException", "Too many tokens"]);
    const found = classifyError("bedrock", {
      kind: "answered",
      status: 429,
      error: report.error,
      complete: true,
    });
    assert.deepEqual([found.errorClass, found.retryable], ["rate_limit", true]);
    const typed = read(address("m", "converse"), { __type: "A#B" }, { status: 400, headers });
    assert.equal(typed.error?.type, "A#B");
    assert.equal(
      read(address("m", "converse"), "", { status: 503, headers }).error?.type,
      "ThrottlingException",
    );
    assert.equal(read(address("m", "converse"), {}, { headers }).error, null);
  });
});

describe("bedrockBidirectional", () => {
  it("states nothing if the call was refused", () => {
    const url = address("amazon.nova-sonic-v1:0", "invoke-with-bidirectional-stream");
    const report = read(url, { message: "You have no access to the model." }, { status: 403 });
    assert.deepEqual([countsOf(report), report.extras, report.tokensComplete], [NO_COUNTS, {}, false]);
    assert.equal(report.error?.message, "You have no access to the model.");
  });
});

describe("bedrockInvoke", () => {
  const claude = {
    id: "msg_1",
    model: "claude-opus-4-6",
    type: "message",
    content: [],
    usage: {
      input_tokens: 10,
      cache_read_input_tokens: 12,
      cache_creation_input_tokens: 8,
      cache_creation: { ephemeral_1h_input_tokens: 5, ephemeral_5m_input_tokens: 3 },
      output_tokens: 7,
    },
  };
  const counted = {
    "x-amzn-bedrock-input-token-count": "21",
    "x-amzn-bedrock-output-token-count": "4",
    "x-amzn-bedrock-cache-read-input-token-count": "3",
    "x-amzn-requestid": "r-1",
  };

  it("reads Claude's usage with the model in the path", () => {
    const report = read(address(CLAUDE, "invoke"), claude, { headers: counted });
    assert.deepEqual(countsOf(report), [10, 12, 8, 5, 7, null]);
    assert.deepEqual([report.model, report.responseId, report.tokensComplete], [CLAUDE, "msg_1", true]);
  });

  const { usage, ...rest } = claude;
  const claudeStream = [
    chunk({ type: "message_start", message: { ...rest, usage: { ...usage, output_tokens: 1 } } }),
    chunk({ type: "content_block_delta", delta: { text: 'the "usage" of it' } }),
    chunk({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 7 } }),
    chunk({
      type: "message_stop",
      "amazon-bedrock-invocationMetrics": { inputTokenCount: 10, outputTokenCount: 7, invocationLatency: 9 },
    }),
  ];

  it("reads Claude's events in a stream", () => {
    const report = read(address(CLAUDE, "invoke-with-response-stream"), claudeStream);
    assert.deepEqual(countsOf(report), [10, 12, 8, 5, 7, null]);
    assert.deepEqual([report.model, report.responseId, report.tokensComplete], [CLAUDE, "msg_1", true]);
  });

  it("treats a stream that ended normally as complete, even without a stop reason", () => {
    const url = address(CLAUDE, "invoke-with-response-stream");
    const silent = [
      claudeStream[0]!,
      chunk({ type: "message_delta", delta: {}, usage: { output_tokens: 7 } }),
    ];
    assert.equal(read(url, silent).tokensComplete, true);
    assert.equal(read(url, silent, { complete: false }).tokensComplete, false);
    assert.equal(read(url, [...silent, Uint8Array.of(0, 0)]).tokensComplete, false);
  });

  it("marks a truncated stream of Claude as incomplete", () => {
    const url = address(CLAUDE, "invoke-with-response-stream");
    const report = read(url, claudeStream.slice(0, 2), { complete: false });
    assert.deepEqual([...countsOf(report), report.tokensComplete], [10, 12, 8, 5, 1, null, false]);
  });

  const natives: [name: string, native: object, counts: (number | null)[]][] = [
    [
      "Nova",
      { output: {}, usage: { inputTokens: 5, outputTokens: 6, totalTokens: 11 } },
      [5, 0, 0, null, 6, null],
    ],
    [
      "a model of OpenAI's",
      { id: "c", choices: [], usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } },
      [9, null, null, null, 2, null],
    ],
    ["Llama, by Bedrock's count", { generation: "x", prompt_token_count: 20 }, [21, 3, null, null, 4, null]],
    ["a usage that nobody knows, by Bedrock's count", { usage: { units: 3 } }, [21, 3, null, null, 4, null]],
  ];
  for (const [name, native, counts] of natives)
    it(`reads ${name}`, () => {
      const report = read(address("m", "invoke"), native, { headers: counted });
      assert.deepEqual([...countsOf(report), report.tokensComplete], [...counts, true]);
      assert.equal(report.model, "m");
    });

  it("reads an embedding, which has no output", () => {
    const headers = { "x-amzn-bedrock-input-token-count": "8" };
    const report = read(address("amazon.titan-embed-text-v2:0", "invoke"), { embedding: [1] }, { headers });
    assert.deepEqual(countsOf(report), [8, null, null, null, 0, null]);
  });

  it("reads Nova's and every other model's streams", () => {
    const url = address("m", "invoke-with-response-stream");
    const metrics = {
      inputTokenCount: 5,
      outputTokenCount: 6,
      cacheReadInputTokenCount: 2,
      cacheWriteInputTokenCount: 1,
    };
    const nova = [chunk({ messageStart: {} }), chunk({ metadata: { usage: USAGE, metrics: {} } })];
    assert.deepEqual(countsOf(read(url, nova)), [10, 12, 8, 5, 7, null]);
    const llama = [
      chunk({ generation: "a" }),
      chunk({ generation: "long ".repeat(1_000), "amazon-bedrock-invocationMetrics": metrics }),
    ];
    const report = read(url, llama, { headers: { "x-amzn-requestid": "r-2" } });
    assert.deepEqual([report.responseId, ...countsOf(report)], ["r-2", 5, 2, 1, null, 6, null]);
    assert.deepEqual(countsOf(read(url, llama.slice(0, 1), { complete: false })), NO_COUNTS);
  });

  it("skips an invalid chunk", () => {
    const url = address("m", "invoke-with-response-stream");
    assert.deepEqual(countsOf(read(url, [event("chunk", { bytes: "***" }), event("chunk", {})])), NO_COUNTS);
  });

  it("rejects invalid counts", () => {
    const headers = { "x-amzn-bedrock-input-token-count": "many" };
    assert.deepEqual(countsOf(read(address("m", "invoke"), {}, { headers })), NO_COUNTS);
  });
});

describe("bedrockModel()", () => {
  const arn = (resource: string) => `arn:aws:bedrock:us-east-1:123456789012:${resource}`;
  const body = { model: "claude-x", usage: { input_tokens: 1, output_tokens: 1 } };
  for (const [model, expected] of [
    [CLAUDE, CLAUDE],
    [arn(`inference-profile/${CLAUDE}`), CLAUDE],
    [arn("foundation-model/amazon.nova-lite-v1:0"), "amazon.nova-lite-v1:0"],
    [arn("application-inference-profile/abc123"), "claude-x"],
    [arn("provisioned-model/abc123"), "claude-x"],
  ] as const)
    it(`is ${expected} for ${model}`, () => {
      assert.equal(read(address(model, "invoke"), body).model, expected);
    });

  it("prices a profile of a region above the global one", () => {
    const book = createPriceBook(loadBundledRates());
    const cost = (model: string) => {
      const report = read(address(model, "converse"), { usage: { inputTokens: 1_000, outputTokens: 0 } });
      const { tokens, extras, serviceTier } = report;
      return priceUsage(
        {
          provider: "bedrock",
          model: report.model ?? "",
          requestedModel: model,
          at: Date.UTC(2026, 10, 1),
          tokens,
          extras,
          serviceTier,
          providerCostPicoUsd: null,
          requestKind: "chat",
        },
        book,
      ).costPicoUsd;
    };
    assert.equal(cost("global.anthropic.claude-opus-4-6-v1:0"), 5_000_000_000n);
    assert.equal(cost("us.anthropic.claude-opus-4-6-v1:0"), 5_500_000_000n);
    assert.equal(cost("eu.anthropic.claude-opus-4-6-v1:0"), 5_500_000_000n);
    assert.equal(cost("apac.anthropic.claude-opus-4-6-v1:0"), 5_500_000_000n);
    assert.equal(cost("anthropic.claude-opus-4-6-v1:0"), 5_500_000_000n);
  });
});
