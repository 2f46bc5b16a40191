import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeCall } from "../../../../core/delivery/otlp/otlp-call.ts";
import {
  addCall,
  countPoints,
  createOtlpMetrics,
  listMetrics,
} from "../../../../core/delivery/otlp/otlp-metrics.ts";
import { toOutgoingRecord } from "../../../../core/privacy/policy/outgoing-record.ts";
import type { UploadPreset } from "../../../../core/privacy/policy/upload-policy.ts";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";

function call(given: Partial<RequestRecord>, preset: UploadPreset = "full") {
  const outgoing = toOutgoingRecord(sampleRecord(given), { preset, fields: {}, perProject: {} });
  assert.equal(outgoing.kind, "send");
  return describeCall((outgoing as Extract<typeof outgoing, { kind: "send" }>).record);
}

const noTokens = {
  ...{ promptTokens: null, cacheReadTokens: null, cacheWriteTokens: null, cacheWrite1hTokens: null },
  ...{ completionTokens: null, thinkingTokens: null },
};
const unknownTokens = { ...noTokens, cacheReadTokens: 7, thinkingTokens: 3 };

describe("describeCall()", () => {
  it("sums the tokens as the conventions do, and leaves out what is not known", () => {
    const tokens = { ...unknownTokens, promptTokens: 1, cacheWriteTokens: 10, completionTokens: 20 };
    const { attributes } = call({ tokens });
    assert.equal(attributes["gen_ai.usage.input_tokens"], 18);
    assert.equal(attributes["gen_ai.usage.output_tokens"], 23);
    const plain = call({ tokens: { ...noTokens, promptTokens: 5, completionTokens: 6 } }).attributes;
    assert.deepEqual([plain["gen_ai.usage.input_tokens"], plain["gen_ai.usage.output_tokens"]], [5, 6]);
    const unknown = call({ tokens: unknownTokens, costPicoUsd: null, sessionId: null }).attributes;
    for (const name of ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "meter.cost.usd"])
      assert.equal(name in unknown, false, name);
    assert.equal(unknown["gen_ai.usage.cache_read.input_tokens"], 7);
  });

  it("states an error, and who pays", () => {
    const failed = call({ httpStatus: 429, errorClass: "rate_limit", billingMode: "plan" });
    assert.equal(failed.isFailed, true);
    assert.equal(failed.attributes["error.type"], "rate_limit");
    assert.equal(failed.attributes["meter.billing_mode"], "plan");
    assert.equal("error.type" in call({}).attributes, false);
  });

  it("names the operation, and the kind of a request that has no name there", () => {
    const nameOf = (kind: RequestRecord["requestKind"]) =>
      call({ requestKind: kind, requestedModel: "m" }).name;
    assert.deepEqual(
      [nameOf("chat"), nameOf("embedding"), nameOf("image")],
      ["chat m", "embeddings m", "image m"],
    );
  });

  it("leaves an unknown model out, and states the status of a failure without a class", () => {
    const { attributes, isFailed } = call({ model: "unknown", httpStatus: 503, errorClass: null });
    assert.equal("gen_ai.response.model" in attributes, false);
    assert.deepEqual([isFailed, attributes["error.type"]], [true, "503"]);
  });

  it("states the time to the first chunk of a stream only", () => {
    const ttfb = "gen_ai.response.time_to_first_chunk";
    assert.equal(call({ streaming: true, ttfbMs: 250 }).attributes[ttfb], 0.25);
    assert.equal(ttfb in call({ streaming: true, ttfbMs: null }).attributes, false);
    assert.equal(ttfb in call({ streaming: false, ttfbMs: 250 }).attributes, false);
  });

  it("states a provider with the name of an inherited member", () => {
    const { attributes } = call({ provider: "constructor" });
    assert.equal(attributes["gen_ai.provider.name"], "constructor");
  });

  it("states the pull request as a text", () => {
    assert.equal(call({ pullRequest: 12 }).attributes["vcs.change.id"], "12");
    assert.equal("vcs.change.id" in call({ pullRequest: null }).attributes, false);
  });

  it("describes a record of the smallest preset", () => {
    const { attributes, startMs, endMs } = call({ provider: "bedrock" }, "minimal");
    assert.equal(startMs, endMs);
    assert.equal(attributes["gen_ai.provider.name"], "aws.bedrock");
    assert.equal(attributes["gen_ai.operation.name"], "chat");
    assert.equal("gen_ai.request.model" in attributes, false);
  });
});

describe("addCall()", () => {
  it("counts each value in one bucket, and further attributes together", () => {
    const metrics = createOtlpMetrics(0);
    for (let index = 0; index < 2_100; index++)
      addCall(metrics, call({ model: `m-${index}`, latencyMs: 640 }));
    const duration = listMetrics(metrics).find(({ name }) => name === "gen_ai.client.operation.duration")!;
    assert.equal(duration.points.size, 2_000);
    const [first] = duration.points.values();
    assert.deepEqual([first?.count, first?.sum, first?.buckets.indexOf(1)], [1, 0.64, 6]);
    const sizes = listMetrics(metrics).map(({ points }) => points.size);
    assert.equal(
      countPoints(metrics),
      sizes.reduce((sum, size) => sum + size, 0),
    );
    const overflow = duration.points.get("overflow");
    assert.deepEqual([overflow?.count, overflow?.attributes], [101, { "otel.metric.overflow": true }]);
  });

  it("counts a value above the last bound in the last bucket", () => {
    const metrics = createOtlpMetrics(0);
    addCall(metrics, call({ latencyMs: 10_000_000 }));
    const duration = listMetrics(metrics).find(({ name }) => name === "gen_ai.client.operation.duration")!;
    const [point] = duration.points.values();
    assert.equal(point?.buckets.indexOf(1), duration.bounds?.length);
  });
});
