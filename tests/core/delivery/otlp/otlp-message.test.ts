import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createOtlpRequest,
  isOtlpHeader,
  isRejected,
  OTLP_SIGNALS,
  readRejectedCount,
} from "../../../../core/delivery/otlp/otlp-message.ts";

describe("createOtlpRequest()", () => {
  it("posts each signal to its path, without a key of the cloud", () => {
    const headers = { "x-api-key": "k" };
    const urls = OTLP_SIGNALS.map((signal) => {
      const { url, ...request } = createOtlpRequest(
        { endpoint: "https://otel.example/base/", headers },
        signal,
        "{}",
      );
      assert.deepEqual(request, {
        ...{ method: "POST", bearer: null, body: "{}", headers },
        ...{ maxResponseBytes: 65_536, timeoutMs: 10_000 },
      });
      return url;
    });
    assert.deepEqual(urls, [
      "https://otel.example/base/v1/traces",
      "https://otel.example/base/v1/logs",
      "https://otel.example/base/v1/metrics",
    ]);
  });
});

describe("isRejected()", () => {
  it("is true only for answers that reject the message itself", () => {
    const http = (status: number) => isRejected({ kind: "http", status, retryAfterMs: null });
    assert.deepEqual([400, 413, 422].map(http), [true, true, true]);
    assert.deepEqual([200, 401, 403, 404, 408, 429, 500, 503].filter(http), []);
    assert.equal(isRejected({ kind: "transport", reason: "timeout" }), false);
  });
});

describe("readRejectedCount()", () => {
  const count = (text: string) =>
    OTLP_SIGNALS.map((signal) => readRejectedCount(signal, new TextEncoder().encode(text)));
  const cases: readonly (readonly [body: string, counts: readonly number[]])[] = [
    ['{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}', [3, 0, 0]],
    ['{"partialSuccess":{"rejectedLogRecords":2}}', [0, 2, 0]],
    ['{"partialSuccess":{"rejectedDataPoints":"7"}}', [0, 0, 7]],
    ['{"partialSuccess":{"rejectedSpans":"0","errorMessage":"a warning"}}', [0, 0, 0]],
    ['{"partialSuccess":{"rejectedSpans":-1}}', [0, 0, 0]],
    ['{"partialSuccess":{"rejectedSpans":"many"}}', [0, 0, 0]],
    ...["{}", '{"partialSuccess":null}', "null", "7", "[]", "", "\n\u0000"].map(
      (body) => [body, [0, 0, 0]] as const,
    ),
  ];
  for (const [body, counts] of cases)
    it(`reads ${counts.join(", ")} from ${JSON.stringify(body)}`, () =>
      assert.deepEqual(count(body), counts));
});

describe("isOtlpHeader()", () => {
  it("accepts a header that HTTP allows and that the client does not set itself", () => {
    assert.ok(isOtlpHeader("x-api-key", "a secret"));
    for (const [name, value] of [
      ["", "v"],
      ["a b", "v"],
      ["a:", "v"],
      ["Content-Type", "text/plain"],
      ["Host", "x"],
      ["a", ""],
      ["a", " v"],
      ["a", "v\r\nx: y"],
      ["a", "é"],
    ] as const)
      assert.equal(isOtlpHeader(name, value), false, `${name}: ${value}`);
  });
});
