import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createRedact } from "../../../core/privacy/redaction/redact.ts";
import { createRecordRedaction } from "../../../daemon/capture/redact-record.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";

const redactRecord = createRecordRedaction(createRedact());
const key = `sk-proj-${"a1B2".repeat(8)}`;

describe("createRecordRedaction()", () => {
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
    const clean = redactRecord(record);
    assert.ok(!JSON.stringify(clean, (_, value) => (typeof value === "bigint" ? "" : value)).includes(key));
    assert.equal(clean.requestedModel, "my [redacted:provider_api_key]");
    assert.equal(clean.path, "/v1beta/models/[redacted:provider_api_key]:generateContent");
  });

  it("makes an id unknown that contains a secret, and keeps the others", () => {
    const ids = { sessionId: `ses_${key}`, turnId: "turn-1", agentId: key, gitBranch: `fix/${key}` };
    const { sessionId, turnId, agentId, gitBranch } = redactRecord(sampleRecord(ids));
    assert.deepEqual(
      [sessionId, turnId, agentId, gitBranch],
      [null, "turn-1", null, "fix/[redacted:provider_api_key]"],
    );
  });

  it("changes no id of the forms that clients use", () => {
    const ids = [
      "5e550001-0000-4000-8000-00000000a1b2",
      "T-5e550001-0000-4000-8000-000000000000",
      "ses_41f2ab9cZ",
    ];
    for (const id of [...ids, "a1b2c3", "task_1788260000000", `user_${"0f".repeat(32)}`]) {
      const record = sampleRecord({ sessionId: id, agentId: id, gitCommit: "c0ffee".repeat(7).slice(2) });
      assert.equal(redactRecord(record), record, id);
    }
  });

  it("keeps a service tier only if it is one word", () => {
    for (const [tier, kept] of [
      ["priority", "priority"],
      ["dear diary", null],
      [null, null],
    ] as const) {
      assert.equal(redactRecord(sampleRecord({ serviceTier: tier })).serviceTier, kept);
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
      assert.equal(redactRecord(record), record, model);
    }
  });

  it("removes a name that can't be searched", () => {
    const broken = () => {
      throw new TypeError("the rules are off");
    };
    for (const search of [() => ({ ok: false, reason: "too_long" }) as never, broken]) {
      const clean = createRecordRedaction(search)(sampleRecord({ model: "gpt-5" }));
      assert.equal(clean.model, "[redacted]");
    }
  });

  it("searches a name that many records share once, and each response ID", () => {
    const searched: string[] = [];
    const counting = createRecordRedaction((text) => {
      searched.push(text);
      return { ok: true, text, summary: [] };
    });
    const shared = {
      model: "m",
      requestedModel: "m",
      path: "/p",
      client: null,
      sourceWorkdir: "/w",
      turnId: null,
    };
    const sample = (providerResponseId: string | null) =>
      sampleRecord({ ...shared, serviceTier: null, providerErrorCode: null, providerResponseId });
    for (const id of ["first", "second", null, "second"]) counting(sample(id));
    assert.equal(searched.length, 3);
    assert.match(searched[0] as string, /^m\n.*\/p\n/s);
    assert.deepEqual(searched.slice(1), ["second\n ", "second\n "]);
  });

  it("searches a name again if it was found with a secret, is long, or follows 1,000 others", () => {
    const path = `/v1/${key}`;
    for (let round = 0; round < 2; round += 1)
      assert.equal(redactRecord(sampleRecord({ path })).path, "/v1/[redacted:provider_api_key]");
    let searches = 0;
    const counting = createRecordRedaction((text) => {
      searches += 1;
      return { ok: true, text, summary: [] };
    });
    const search = (model: string) => {
      searches = 0;
      counting(sampleRecord({ model, requestedModel: model, providerResponseId: null }));
      return searches;
    };
    assert.deepEqual([search("a".repeat(257)), search("a".repeat(257))], [1, 1]);
    assert.deepEqual([search("first"), search("first")], [1, 0]);
    for (let count = 0; count < 1_000; count += 1) search(`model ${count}`);
    assert.equal(search("first"), 1);
  });
});
