import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import * as v from "valibot";
import { ERROR_CLASSES } from "../../../core/values/record-fields.ts";
import {
  BATCH_MAX_RECORDS,
  batchRequestSchema,
  batchResponseSchema,
} from "../../../core/wire/metadata-batch.ts";
import { metadataRecordSchema, parseMetadataRecord } from "../../../core/wire/metadata-record.ts";
import { MAX_WIRE_PROBLEMS, parseWire } from "../../../core/wire/parse.ts";

const oldest = {
  request_id: "01994b8e-7c00-7000-8000-000000000000",
  requested_at: "2026-11-21T10:00:00.000Z",
  provider: "openai",
  model: "gpt-5",
};

const whole = {
  ...oldest,
  requested_model: "gpt-5-latest",
  request_kind: "chat",
  streaming: true,
  prompt_tokens: 10,
  completion_tokens: 20,
  cache_read_tokens: 0,
  cache_write_tokens: 5,
  cache_write_1h_tokens: 5,
  thinking_tokens: 7,
  tokens_complete: true,
  cost_usd_minor_units: 12,
  cost_pico_usd: "120000001",
  cost_source: "computed",
  billing_mode: "plan",
  provider_cost_pico_usd: "0",
  rates_source: "bundled",
  service_tier: "standard",
  usage_extras: { web_search_requests: 2 },
  latency_ms: 1200,
  ttfb_ms: 300,
  http_status: 200,
  error_class: "rate_limit",
  provider_error_code: "rate_limit_exceeded",
  retryable: true,
  blocked_by: "day",
  project: "shop",
  attribution_tier: "git_root",
  session_id: "5e".repeat(16),
  session_source: "stated",
  turn_id: "70".repeat(16),
  agent_id: "a9".repeat(16),
  parent_agent_id: "9a".repeat(16),
  agent_kind: "review",
  client_version: "2.1.240",
  git_branch: "main",
  git_commit: "c0".repeat(20),
  git_remote: "github.com/acme/shop",
  pull_request: 7,
  record_source: "wire",
  prompt_hash: "0".repeat(64),
  prompt_hash_kind: "keyed",
  method: "POST",
  path: "/v1/chat/completions",
  source_workdir: "/home/ann/shop",
};

/** The fields that version 0.5 of the daemon does not have. */
const SESSION_FIELDS: ReadonlySet<string> = new Set([
  ...[
    "session_id",
    "session_source",
    "turn_id",
    "agent_id",
    "parent_agent_id",
    "agent_kind",
    "client_version",
  ],
  ...["git_branch", "git_commit", "git_remote", "pull_request", "record_source"],
]);

describe("parseMetadataRecord()", () => {
  it("accepts a record with every field", () =>
    assert.deepEqual(parseMetadataRecord(whole), { ok: true, value: whole }));
  it("accepts a record with only the required fields, and sets the rest to null", () => {
    const parsed = parseMetadataRecord(oldest);
    assert.ok(parsed.ok);
    const { request_id, requested_at, provider, model, ...rest } = parsed.value;
    assert.deepEqual({ request_id, requested_at, provider, model }, oldest);
    assert.deepEqual(
      Object.keys(rest).sort(),
      Object.keys(whole)
        .filter((name) => !(name in oldest))
        .sort(),
    );
    assert.ok(Object.values(rest).every((value) => value === null));
  });
  it("accepts a record without the four error fields of v0.3.0", () => {
    const { error_class: _1, provider_error_code: _2, http_status: _3, retryable: _4, ...before } = whole;
    const parsed = parseMetadataRecord(before);
    assert.ok(parsed.ok && parsed.value.error_class === null && parsed.value.http_status === null);
  });
  it("accepts a record of a daemon that knows no sessions", () => {
    const before = Object.entries(whole).filter(([name]) => !SESSION_FIELDS.has(name));
    const parsed = parseMetadataRecord(Object.fromEntries(before));
    assert.ok(parsed.ok);
    for (const name of SESSION_FIELDS) assert.equal(parsed.value[name as keyof typeof parsed.value], null);
  });
  it("is read by a cloud that knows no sessions, without them", () => {
    const earlier = Object.entries(metadataRecordSchema.entries).filter(
      ([name]) => !SESSION_FIELDS.has(name),
    );
    const parsed = parseWire(v.object(Object.fromEntries(earlier)), whole);
    assert.ok(parsed.ok);
    assert.deepEqual(
      Object.keys(whole).filter((name) => !(name in parsed.value)),
      [...SESSION_FIELDS],
    );
  });
  it("drops unknown fields, including column names", () => {
    const extra = {
      workspace_id: "w2",
      user_id: "u",
      received_at: "x",
      error_message_hash: "h",
      body: "secret",
    };
    assert.deepEqual(parseMetadataRecord({ ...whole, ...extra }), { ok: true, value: whole });
  });
  for (const word of ERROR_CLASSES) {
    it(`accepts error_class ${word}`, () =>
      assert.ok(parseMetadataRecord({ ...oldest, error_class: word }).ok));
  }

  const wrong: readonly [field: string, value: unknown, problem: string][] = [
    ["request_id", undefined, "is missing"],
    ["request_id", "x", "must be a UUID"],
    ["requested_at", "2026-11-21", "must be an ISO 8601 date and time"],
    ["requested_at", 1_763_719_200_000, "must be string"],
    ["provider", "", "must not be empty"],
    ["provider", null, "must be string"],
    ["model", "m".repeat(257), "must have at most 256 characters"],
    ["model", "a\0b", "must not contain U+0000 or an unpaired surrogate"],
    ["model", "a\ud800", "must not contain U+0000 or an unpaired surrogate"],
    ["request_kind", "video", 'must be ("chat" | "embedding" | "image" | "audio" | "other")'],
    ["prompt_tokens", -1, "must not be negative"],
    ["prompt_tokens", 1.5, "must be a whole number below 2^53"],
    ["prompt_tokens", 2 ** 53, "must be a whole number below 2^53"],
    ["prompt_tokens", "5", "must be number"],
    ["cost_pico_usd", "1.5", "must be an integer of at most 22 digits"],
    ["cost_pico_usd", "007", "must be an integer of at most 22 digits"],
    ["cost_pico_usd", "-1", "must be an integer of at most 22 digits"],
    ["cost_pico_usd", "1".repeat(23), "must be an integer of at most 22 digits"],
    ["session_id", "5e550001-0000-4000-8000-000000000000", "must be 32 lower-case hexadecimal digits"],
    ["agent_id", "A9".repeat(16), "must be 32 lower-case hexadecimal digits"],
    ["session_source", "guessed", 'must be ("stated" | "inferred")'],
    ["http_status", 99, "must be a whole number from 100 to 999"],
    ["http_status", 1000, "must be a whole number from 100 to 999"],
    ["http_status", 200.5, "must be a whole number from 100 to 999"],
    ["error_class", "overloaded", `must be (${ERROR_CLASSES.map((word) => `"${word}"`).join(" | ")})`],
    ["prompt_hash", "A".repeat(64), "must be 64 lower-case hexadecimal digits"],
    ["usage_extras", { a: 1.5 }, "must be a whole number below 2^53"],
    [
      "usage_extras",
      Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`n${at}`, 1])),
      "must contain at most 64 counts",
    ],
  ];
  for (const [field, value, problem] of wrong) {
    it(`refuses ${field} ${String(JSON.stringify(value)).slice(0, 24)}: ${problem}`, () => {
      const parsed = parseMetadataRecord({ ...oldest, [field]: value });
      assert.ok(!parsed.ok);
      assert.equal(parsed.problems[0]?.problem, problem);
      assert.equal(parsed.problems[0]?.field.split(".")[0], field);
    });
  }
  it("counts characters, not UTF-16 code units", () => {
    assert.ok(parseMetadataRecord({ ...oldest, model: "\u{1F600}".repeat(256) }).ok);
    assert.ok(!parseMetadataRecord({ ...oldest, model: "\u{1F600}".repeat(257) }).ok);
  });
  for (const value of [null, undefined, 5, "text", [], true]) {
    it(`refuses ${JSON.stringify(value)} in the place of a record`, () =>
      assert.ok(!parseMetadataRecord(value).ok));
  }
  it("does not repeat names of usage_extras, which may be any text", () => {
    const parsed = parseMetadataRecord({ ...oldest, usage_extras: { "My Secret": -1 } });
    assert.deepEqual(parsed, {
      ok: false,
      problems: [{ field: "usage_extras.*", problem: "must not be negative" }],
    });
  });

  it("keeps prototype names out of usage_extras", () => {
    const parsed = parseMetadataRecord({ ...oldest, usage_extras: JSON.parse('{"__proto__":1,"pages":2}') });
    assert.deepEqual(parsed.ok && parsed.value.usage_extras, { pages: 2 });
  });

  // Seen to fail with valibot's own messages, which quote the value, and with the names in paths.
  it("never repeats the sent values", () => {
    const secret = "sk-canary-123";
    const leaf = fc.constantFrom<unknown>(secret, [secret], { [secret]: secret }, { [secret]: 1.5 }, 5, null);
    const fields = fc.constantFrom(...Object.keys(whole));
    fc.assert(
      fc.property(fc.dictionary(fields, leaf), (changes) => {
        const parsed = parseMetadataRecord({ ...whole, ...changes });
        if (!parsed.ok) assert.ok(!JSON.stringify(parsed.problems).includes("canary"));
      }),
    );
  });
});

describe("batchRequestSchema", () => {
  const batch = (records: unknown) => parseWire(batchRequestSchema, { daemon_version: "0.4.0", records });
  it("does not parse the records, so that each is accepted or rejected individually", () => {
    const odd = { request_id: oldest.request_id, model: 5, anything: [1] };
    assert.deepEqual(batch([odd]), {
      ok: true,
      value: { daemon_version: "0.4.0", machine_id: null, records: [odd] },
    });
  });
  it(`accepts 1 to ${BATCH_MAX_RECORDS} records`, () => {
    const many = (length: number) => Array.from({ length }, () => oldest);
    assert.ok(!batch([]).ok);
    assert.ok(batch(many(1)).ok);
    assert.ok(batch(many(BATCH_MAX_RECORDS)).ok);
    assert.ok(!batch(many(BATCH_MAX_RECORDS + 1)).ok);
  });
  it("rejects a record that no outcome could refer to", () => {
    assert.ok(!batch([{ model: "m" }]).ok);
    assert.ok(!batch([{ request_id: 5 }]).ok);
    assert.ok(!batch([null]).ok);
  });
  it("rejects a body that is not a batch", () => {
    for (const records of [undefined, null, {}, "x"]) assert.ok(!batch(records).ok);
    assert.ok(!parseWire(batchRequestSchema, { records: [oldest] }).ok);
  });
  it(`reports at most ${MAX_WIRE_PROBLEMS} problems`, () => {
    const parsed = batch(Array.from({ length: 100 }, () => ({})));
    assert.ok(!parsed.ok && parsed.problems.length === MAX_WIRE_PROBLEMS);
    assert.deepEqual(parsed.problems[0], { field: "records.0.request_id", problem: "is missing" });
  });
});

describe("batchResponseSchema", () => {
  it("accepts fields that a newer cloud adds", () => {
    const answer = {
      accepted: 1,
      duplicates: 0,
      rejected: [{ request_id: "a", code: "invalid", message: "no" }],
    };
    const newer = { ...answer, server_time: "x", rejected: [{ ...answer.rejected[0], hint: "y" }] };
    assert.deepEqual(parseWire(batchResponseSchema, newer), { ok: true, value: answer });
  });
});

describe("metadataRecordSchema", () => {
  it("has no field for data that must never be sent", () => {
    const names = Object.keys(metadataRecordSchema.entries);
    for (const never of ["error_message_hash", "body", "prompt", "completion", "host", "client"]) {
      assert.ok(!names.includes(never), never);
    }
  });
});
