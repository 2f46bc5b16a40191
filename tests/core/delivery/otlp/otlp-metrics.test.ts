import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeCall } from "../../../../core/delivery/otlp/otlp-call.ts";
import { addCall, createOtlpMetrics, listMetrics } from "../../../../core/delivery/otlp/otlp-metrics.ts";
import { toOutgoingRecord } from "../../../../core/privacy/policy/outgoing-record.ts";
import type { UploadPreset } from "../../../../core/privacy/policy/upload-policy.ts";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";

function call(given: Partial<RequestRecord>, preset: UploadPreset = "full") {
  const outgoing = toOutgoingRecord(sampleRecord(given), { preset, fields: {}, perProject: {} });
  assert.equal(outgoing.kind, "send");
  return describeCall((outgoing as Extract<typeof outgoing, { kind: "send" }>).record);
}

const unknownTokens = {
  ...{ promptTokens: null, cacheReadTokens: 7, cacheWriteTokens: null, cacheWrite1hTokens: null },
  ...{ completionTokens: null, thinkingTokens: 3 },
};

describe("describeCall()", () => {
  it("sums the tokens as the conventions do, and leaves out what is not known", () => {
    const tokens = { ...unknownTokens, promptTokens: 1, cacheWriteTokens: 10, completionTokens: 20 };
    const { attributes } = call({ tokens });
    assert.equal(attributes["gen_ai.usage.input_tokens"], 18);
    assert.equal(attributes["gen_ai.usage.output_tokens"], 23);
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

  it("describes a record of the smallest preset", () => {
    const { attributes, startMs, endMs } = call({ provider: "bedrock" }, "minimal");
    assert.equal(startMs, endMs);
    assert.equal(attributes["gen_ai.provider.name"], "aws.bedrock");
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
    const overflow = duration.points.get("overflow");
    assert.deepEqual([overflow?.count, overflow?.attributes], [101, { "otel.metric.overflow": true }]);
  });
});
