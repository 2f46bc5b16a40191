import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createRedact } from "../../../core/privacy/redaction/redact.ts";
import { redactRecord } from "../../../daemon/capture/redact-record.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";

const redact = createRedact();
const key = `sk-proj-${"a1B2".repeat(8)}`;

describe("redactRecord()", () => {
  it("removes a key from every name of a client or provider", () => {
    const record = sampleRecord({
      model: key,
      requestedModel: `my ${key}`,
      path: `/v1beta/models/${key}:generateContent`,
      providerResponseId: key,
      providerErrorCode: key,
      sourceWorkdir: `/home/ann/${key}`,
      client: `node-${key}`,
    });
    const clean = redactRecord(record, redact);
    assert.ok(!JSON.stringify(clean, (_, value) => (typeof value === "bigint" ? "" : value)).includes(key));
    assert.equal(clean.requestedModel, "my [redacted:provider_api_key]");
    assert.equal(clean.path, "/v1beta/models/[redacted:provider_api_key]:generateContent");
  });

  it("keeps a service tier only if it is one word", () => {
    for (const [tier, kept] of [
      ["priority", "priority"],
      ["dear diary", null],
      [null, null],
    ] as const) {
      assert.equal(redactRecord(sampleRecord({ serviceTier: tier }), redact).serviceTier, kept);
    }
  });

  it("does not change the record of any model with a rate", () => {
    for (const { provider, model } of loadBundledRates()) {
      const record = sampleRecord({
        provider,
        model,
        requestedModel: `ft:${model}@20260101`,
        path: `/v1/models/${model}:x`,
      });
      assert.equal(redactRecord(record, redact), record, model);
    }
  });

  it("removes a name that can't be searched", () => {
    const broken = () => {
      throw new TypeError("the rules are off");
    };
    for (const search of [() => ({ ok: false, reason: "too_long" }) as never, broken]) {
      const clean = redactRecord(sampleRecord({ model: "gpt-5" }), search);
      assert.equal(clean.model, "[redacted]");
    }
  });
});
