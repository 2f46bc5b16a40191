import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/mod.ts";
import { createRedact } from "../../../core/redaction/mod.ts";
import { withoutSecrets } from "../../../daemon/capture/without-secrets.ts";
import { sampleRecord } from "../store/sample-records.ts";

const redact = createRedact();
const key = `sk-proj-${"a1B2".repeat(8)}`;

describe("withoutSecrets()", () => {
  it("takes a key out of every name that a client or a provider wrote", () => {
    const record = sampleRecord({
      model: key,
      requestedModel: `my ${key}`,
      path: `/v1beta/models/${key}:generateContent`,
      providerResponseId: key,
    });
    const clean = withoutSecrets(record, redact);
    assert.ok(!JSON.stringify(clean, (_, value) => (typeof value === "bigint" ? "" : value)).includes(key));
    assert.equal(clean.requestedModel, "my [redacted:provider_api_key]");
    assert.equal(clean.path, "/v1beta/models/[redacted:provider_api_key]:generateContent");
  });

  it("keeps a tier that is one word, and no other", () => {
    for (const [tier, kept] of [
      ["priority", "priority"],
      ["dear diary", null],
      [null, null],
    ] as const) {
      assert.equal(withoutSecrets(sampleRecord({ serviceTier: tier }), redact).serviceTier, kept);
    }
  });

  it("keeps the record of every model that has a rate as it is", () => {
    for (const { provider, model } of loadBundledRates()) {
      const record = sampleRecord({
        provider,
        model,
        requestedModel: `ft:${model}@20260101`,
        path: `/v1/models/${model}:x`,
      });
      assert.equal(withoutSecrets(record, redact), record, model);
    }
  });

  it("keeps nothing of what could not be searched", () => {
    const broken = () => {
      throw new TypeError("the rules are off");
    };
    for (const search of [() => ({ ok: false, reason: "too_long" }) as never, broken]) {
      const clean = withoutSecrets(sampleRecord({ model: "gpt-5" }), search);
      assert.equal(clean.model, "[redacted]");
    }
  });
});
