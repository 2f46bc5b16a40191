import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import { createIdHash } from "../../../../core/privacy/policy/id-hash.ts";
import { type LocalRecord, toOutgoingRecord } from "../../../../core/privacy/policy/outgoing-record.ts";
import {
  isFieldSent,
  UPLOAD_FIELDS,
  type UploadField,
  type UploadPolicy,
} from "../../../../core/privacy/policy/upload-policy.ts";
import { ERROR_CLASSES } from "../../../../core/values/record-fields.ts";
import { type MetadataRecord, parseMetadataRecord } from "../../../../core/wire/metadata-record.ts";
import { policyOf, sampleRecord } from "./sample-record.rig.ts";

const ID_KEY = "1d".repeat(32);

/** The hashed form of an id that is sent, computed by Node. */
const hmac = (id: string) =>
  createHmac("sha256", Buffer.from(ID_KEY, "hex")).update(id).digest("hex").slice(0, 32);

function send(local: LocalRecord, policy: UploadPolicy = policyOf("full")): MetadataRecord {
  const outgoing = toOutgoingRecord(local, policy, { kind: "plain" }, createIdHash(ID_KEY, sha256));
  assert.ok(outgoing.kind === "send");
  return outgoing.record;
}

/** The field names of the outgoing type. The compiler refuses a field that is not in it, so it can't be sent by mistake. */
const neverSent: readonly Exclude<
  "error_message_hash" | "prompt" | "completion" | "body" | "host" | "client",
  UploadField
>[] = ["error_message_hash", "prompt", "completion", "body", "host", "client"];

describe("toOutgoingRecord()", () => {
  it("sends every field of a full record under its wire name", () => {
    assert.deepEqual(send(sampleRecord), {
      request_id: "01994b8e-7c00-7000-8000-000000000000",
      requested_at: "2026-11-21T10:00:00.000Z",
      provider: "openai",
      model: "gpt-5-2026-01-01",
      requested_model: "gpt-5",
      request_kind: "chat",
      streaming: true,
      prompt_tokens: 1,
      completion_tokens: 5,
      cache_read_tokens: 2,
      cache_write_tokens: 3,
      cache_write_1h_tokens: 4,
      thinking_tokens: 6,
      tokens_complete: true,
      cost_usd_minor_units: 12_345,
      cost_pico_usd: "123450000000",
      cost_source: "computed",
      billing_mode: "plan",
      provider_cost_pico_usd: "99",
      rates_source: "bundled",
      service_tier: "standard",
      usage_extras: { web_search_requests: 1 },
      // The sample is from an agent's log, which has no latency.
      latency_ms: null,
      ttfb_ms: 301,
      http_status: 429,
      error_class: "rate_limit",
      provider_error_code: "rate_limit_exceeded",
      retryable: true,
      blocked_by: "day",
      project: "shop",
      attribution_tier: "git_root",
      session_id: hmac("thr-demo-1"),
      session_source: "stated",
      turn_id: hmac("turn-1"),
      agent_id: hmac("thr-demo-2"),
      parent_agent_id: hmac("thr-demo-3"),
      agent_kind: "collab_spawn",
      client_version: "2.1.240",
      git_branch: "feature/pay",
      git_commit: "c0".repeat(20),
      git_remote: "github.com/acme/shop",
      pull_request: 7,
      record_source: "logs",
      prompt_hash: "a".repeat(64),
      prompt_hash_kind: "plain",
      method: "POST",
      path: "/v1/chat/completions",
      source_workdir: "/home/ann/shop",
    });
  });
  it("sends nothing about sessions, agents and Git under minimal, and neither Git nor the version under standard", () => {
    const names = (preset: "minimal" | "standard" | "full") =>
      Object.entries(send(sampleRecord, policyOf(preset)))
        .filter(
          ([name, value]) =>
            /^(session|turn|agent|parent|client|git|pull|record)_/.test(name) && value !== null,
        )
        .map(([name]) => name);
    const standard = ["session_id", "session_source", "turn_id", "agent_id", "parent_agent_id", "agent_kind"];
    const git = ["client_version", "git_branch", "git_commit", "git_remote", "pull_request"];
    assert.deepEqual(names("minimal"), []);
    assert.deepEqual(names("standard"), [...standard, "record_source"]);
    assert.deepEqual(names("full"), [...standard, ...git, "record_source"]);
  });
  it("sends no id without a key", () => {
    const outgoing = toOutgoingRecord(sampleRecord, policyOf("full"));
    assert.ok(outgoing.kind === "send");
    const { session_id, turn_id, agent_id, parent_agent_id, session_source } = outgoing.record;
    assert.deepEqual([session_id, turn_id, agent_id, parent_agent_id], [null, null, null, null]);
    assert.equal(session_source, "stated");
  });
  it("does not send a local-only project with any preset and overrides", () => {
    const policy = policyOf("full", { fields: { project: true }, perProject: { shop: false } });
    assert.deepEqual(toOutgoingRecord(sampleRecord, policy), { kind: "local_only" });
  });
  it("sends a project with an enabling rule according to the preset", () => {
    assert.equal(send(sampleRecord, policyOf("minimal", { perProject: { shop: true } })).prompt_hash, null);
  });
  it("sends the fields of the policy with each record", () => {
    const policy = policyOf("minimal", { fields: { path: true } });
    const [first, second] = [send(sampleRecord, policy), send({ ...sampleRecord, model: "gpt-6" }, policy)];
    assert.deepEqual(second, { ...first, model: "gpt-6" });
    assert.deepEqual([second.path, second.method], ["/v1/chat/completions", null]);
  });
  it("has no field for data that never leaves the machine", () => {
    const text = JSON.stringify(send(sampleRecord));
    for (const name of neverSent) assert.ok(!text.includes(`"${name}"`), name);
    for (const local of [
      "api.openai.com",
      "openai.chat",
      "chatcmpl-1",
      "curl",
      "thr-demo",
      "turn-1",
      "rollout",
      "e".repeat(64),
    ]) {
      assert.ok(!text.includes(local), local);
    }
  });

  const edges: readonly [why: string, change: Partial<LocalRecord>, field: UploadField, value: unknown][] = [
    ["rounds millicents half to even, down", { costPicoUsd: 25_000_000n }, "cost_usd_minor_units", 2],
    ["rounds millicents half to even, up", { costPicoUsd: 35_000_000n }, "cost_usd_minor_units", 4],
    ["keeps the exact cost beside them", { costPicoUsd: 25_000_001n }, "cost_pico_usd", "25000001"],
    ["sends no cost for an unpriced record", { costPicoUsd: null }, "cost_pico_usd", null],
    ["sends no minor units for one either", { costPicoUsd: null }, "cost_usd_minor_units", null],
    ["sends no negative cost", { costPicoUsd: -1n }, "cost_pico_usd", null],
    ["sends the highest cost", { costPicoUsd: 10n ** 22n - 1n }, "cost_usd_minor_units", 10 ** 15],
    ["sends no cost beyond it", { costPicoUsd: 10n ** 22n }, "cost_usd_minor_units", null],
    [
      "sends an error class of another version as unknown",
      { errorClass: "overloaded" },
      "error_class",
      "unknown",
    ],
    ["sends no error class where there is none", { errorClass: null }, "error_class", null],
    ["sends a status that is none as null", { httpStatus: 0 }, "http_status", null],
    ["cuts a query off the path", { path: "/v1/x?key=secret" }, "path", "/v1/x"],
    ["cuts a fragment off the path", { path: "/v1/x#y" }, "path", "/v1/x"],
    ["rounds a negative hair up to 0", { recordSource: null, latencyMs: -0.4 }, "latency_ms", 0],
    ["sends no negative latency", { recordSource: null, latencyMs: -1 }, "latency_ms", null],
    ["sends no latency that is no number", { recordSource: null, latencyMs: Number.NaN }, "latency_ms", null],
    ["names a provider that is empty", { provider: "" }, "provider", "unknown"],
    ["names a model that is empty", { model: "" }, "model", "unknown"],
    [
      "cuts a model's name on a character",
      { model: "\u{1F600}".repeat(300) },
      "model",
      "\u{1F600}".repeat(256),
    ],
    ["drops a hash that is none", { promptHash: "x" }, "prompt_hash", null],
    [
      "drops extras that are no counts",
      { usageExtras: { pages: 2, odd: 0.4, low: -1 } },
      "usage_extras",
      { pages: 2, odd: 0 },
    ],
    ["drops extras of odd names", { usageExtras: { "a b": 1 } }, "usage_extras", null],
    ["sends no extras where there are none", { usageExtras: null }, "usage_extras", null],
    [
      "keeps a working directory's strange letters storable",
      { sourceWorkdir: "/a\0\ud800" },
      "source_workdir",
      "/a\ufffd\ufffd",
    ],
  ];
  for (const [why, change, field, value] of edges) {
    it(why, () => assert.deepEqual(send({ ...sampleRecord, ...change })[field], value));
  }
  it("never sends minus zero, which JSON would change", () => {
    assert.ok(Object.is(send({ ...sampleRecord, recordSource: null, latencyMs: -0.4 }).latency_ms, 0));
  });

  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "?", "\0", "\ud83d", "\u{1F600}"), maxLength: 5 }),
    fc.constantFrom("x".repeat(5000), "\u{1F600}".repeat(5000)),
  );
  const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(2 ** 53, -0, 99.5, 200.5));
  const money = fc.option(fc.bigInt({ min: -(10n ** 23n), max: 10n ** 23n }));
  const maybeNumber = fc.option(number);
  const maybeText = fc.option(text);
  const anyRecord: fc.Arbitrary<LocalRecord> = fc.record({
    ...Object.fromEntries(Object.entries(sampleRecord).map(([name, value]) => [name, fc.constant(value)])),
    requestedAt: fc.integer({ min: -(10 ** 15), max: 10 ** 15 }),
    provider: text,
    model: text,
    requestedModel: maybeText,
    tokens: fc.record({
      promptTokens: maybeNumber,
      cacheReadTokens: maybeNumber,
      cacheWriteTokens: maybeNumber,
      cacheWrite1hTokens: maybeNumber,
      completionTokens: maybeNumber,
      thinkingTokens: maybeNumber,
    }),
    costPicoUsd: money,
    providerCostPicoUsd: money,
    usageExtras: fc.option(fc.dictionary(fc.constantFrom("pages", "A b", "__proto__", ""), number)),
    latencyMs: number,
    ttfbMs: maybeNumber,
    httpStatus: maybeNumber,
    errorClass: maybeText,
    providerErrorCode: maybeText,
    project: text,
    attributionTier: text,
    promptHash: maybeText,
    method: text,
    path: text,
    sourceWorkdir: maybeText,
  }) as unknown as fc.Arbitrary<LocalRecord>;
  const fieldNames = Object.keys(UPLOAD_FIELDS) as UploadField[];
  const anyPolicy: fc.Arbitrary<UploadPolicy> = fc.record({
    preset: fc.constantFrom("minimal", "standard", "full"),
    fields: fc.dictionary(fc.constantFrom(...fieldNames, "error_message_hash", "nonsense"), fc.boolean()),
    perProject: fc.constant({}),
  });

  // Seen to fail with texts not cut, U+0000 kept, latencies not rounded, and a status of 200.5.
  it("makes a record that the cloud accepts from any record and policy, through JSON", () => {
    fc.assert(
      fc.property(anyRecord, anyPolicy, (local, policy) => {
        const record = send(local, policy);
        assert.deepEqual(parseMetadataRecord(JSON.parse(JSON.stringify(record))), {
          ok: true,
          value: record,
        });
      }),
      { numRuns: 300 },
    );
  });

  // Seen to fail with overrides applied before the preset, and with `source_workdir` in `standard`.
  it("sends exactly the policy's fields", () => {
    const everything = send(sampleRecord);
    fc.assert(
      fc.property(anyPolicy, (policy) => {
        const record = send(sampleRecord, policy);
        for (const field of fieldNames) {
          assert.deepEqual(record[field], isFieldSent(field, policy) ? everything[field] : null, field);
        }
        assert.deepEqual(Object.keys(record).sort(), [...fieldNames].sort());
      }),
    );
  });
});

describe("the error class that toOutgoingRecord() sends", () => {
  const sent = (errorClass: string | null) =>
    send({ ...sampleRecord, errorClass: errorClass as LocalRecord["errorClass"] }).error_class;
  for (const word of ERROR_CLASSES) it(`is ${word} if that is stored`, () => assert.equal(sent(word), word));
  for (const word of ["", "Rate_limit", "overloaded", "toString"]) {
    it(`is unknown if ${JSON.stringify(word)} is stored`, () => assert.equal(sent(word), "unknown"));
  }
  it("is null if none is stored", () => assert.equal(sent(null), null));
});
