import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  BODY_NOT_STORED,
  bodyEnvelopeSchema,
  bodyUploadResponseSchema,
  decodeBody,
  mergeRedaction,
} from "../../../core/wire/body-envelope.ts";
import { parseWire } from "../../../core/wire/parse.ts";

const envelope = {
  request_id: "01994b8e-7c00-7000-8000-000000000000",
  direction: "request",
  content_type: "application/json",
  body_b64: "e30=",
  redaction_applied: false,
  redaction_summary: [],
  original_size_bytes: 2,
};

describe("bodyEnvelopeSchema", () => {
  it("accepts what daemons since v0.2.2 send, without `truncated`", () => {
    assert.deepEqual(parseWire(bodyEnvelopeSchema, envelope), {
      ok: true,
      value: { ...envelope, truncated: null },
    });
  });
  it("drops unknown fields", () => {
    const parsed = parseWire(bodyEnvelopeSchema, { ...envelope, workspace_id: "w2", stored_at: 1 });
    assert.deepEqual(parsed, { ok: true, value: { ...envelope, truncated: null } });
  });
  const wrong: readonly [field: string, value: unknown][] = [
    ["request_id", "not-a-uuid"],
    ["direction", "both"],
    ["content_type", ""],
    ["body_b64", 5],
    ["redaction_applied", "false"],
    ["redaction_summary", "jwt"],
    ["redaction_summary", Array.from({ length: 257 }, () => "jwt")],
    ["original_size_bytes", -1],
    ["original_size_bytes", 0.5],
    ["truncated", "no"],
  ];
  for (const [field, value] of wrong) {
    it(`refuses ${field} ${JSON.stringify(value).slice(0, 20)}`, () => {
      const parsed = parseWire(bodyEnvelopeSchema, { ...envelope, [field]: value });
      assert.ok(!parsed.ok && parsed.problems[0]?.field === field, JSON.stringify(parsed));
    });
  }
});

describe("decodeBody()", () => {
  it("returns the bytes", () =>
    assert.deepEqual(decodeBody("e30="), { ok: true, utf8: Uint8Array.of(0x7b, 0x7d) }));
  it("returns U+0000 unchanged", () =>
    assert.deepEqual(decodeBody("AA=="), { ok: true, utf8: Uint8Array.of(0) }));
  it("reports invalid Base64 before invalid UTF-8", () => {
    assert.deepEqual(decodeBody("e30"), { ok: false, reason: "invalid_base64" });
    assert.deepEqual(decodeBody("/w=="), { ok: false, reason: "invalid_utf8" });
  });
});

describe("bodyUploadResponseSchema", () => {
  it("reads the specification's policy rejection", () => {
    assert.deepEqual(BODY_NOT_STORED, { stored: false, reason: "store_prompt_content_disabled" });
    assert.deepEqual(parseWire(bodyUploadResponseSchema, { ...BODY_NOT_STORED, hint: 1 }), {
      ok: true,
      value: BODY_NOT_STORED,
    });
  });
});

describe("mergeRedaction()", () => {
  const none = { applied: false, summary: [] };
  const cases: readonly [
    why: string,
    bodies: Parameters<typeof mergeRedaction>[0],
    applied: boolean,
    summary: string[],
  ][] = [
    ["no body", [], false, []],
    ["neither body redacted", [none, none], false, []],
    ["one body redacted", [{ applied: true, summary: ["jwt"] }, none], true, ["jwt"]],
    ["the other body redacted", [none, { applied: true, summary: ["jwt"] }], true, ["jwt"]],
    [
      "both, united once each",
      [
        { applied: true, summary: ["jwt", "pem"] },
        { applied: true, summary: ["jwt"] },
      ],
      true,
      ["jwt", "pem"],
    ],
    ["a flag without a rule", [{ applied: true, summary: [] }, none], false, []],
    ["a rule without a flag", [{ applied: false, summary: ["jwt"] }], false, ["jwt"]],
  ];
  for (const [why, bodies, applied, summary] of cases) {
    it(`reads ${why}`, () => {
      assert.deepEqual(mergeRedaction(bodies), { redaction_applied: applied, redaction_summary: summary });
    });
  }
});
