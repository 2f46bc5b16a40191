import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  BODY_NOT_STORED,
  bodyAnswerSchema,
  bodyEnvelopeSchema,
  mergeRedaction,
  openBody,
  parseWire,
} from "../../../core/wire/mod.ts";

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
  it("takes what daemons send since v0.2.2, without `truncated`", () => {
    assert.deepEqual(parseWire(bodyEnvelopeSchema, envelope), {
      ok: true,
      value: { ...envelope, truncated: null },
    });
  });
  it("drops fields that it does not know", () => {
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

describe("openBody()", () => {
  it("gives the bytes", () =>
    assert.deepEqual(openBody("e30="), { ok: true, utf8: Uint8Array.of(0x7b, 0x7d) }));
  it("gives U+0000 as it is", () => assert.deepEqual(openBody("AA=="), { ok: true, utf8: Uint8Array.of(0) }));
  it("says what is wrong, Base64 first", () => {
    assert.deepEqual(openBody("e30"), { ok: false, reason: "invalid_base64" });
    assert.deepEqual(openBody("/w=="), { ok: false, reason: "invalid_utf8" });
  });
});

describe("bodyAnswerSchema", () => {
  it("reads the contract's policy rejection", () => {
    assert.deepEqual(BODY_NOT_STORED, { stored: false, reason: "store_prompt_content_disabled" });
    assert.deepEqual(parseWire(bodyAnswerSchema, { ...BODY_NOT_STORED, hint: 1 }), {
      ok: true,
      value: BODY_NOT_STORED,
    });
  });
});

describe("mergeRedaction()", () => {
  const none = { applied: false, summary: [] };
  const cases: readonly [
    why: string,
    legs: Parameters<typeof mergeRedaction>[0],
    applied: boolean,
    summary: string[],
  ][] = [
    ["no leg", [], false, []],
    ["neither leg redacted", [none, none], false, []],
    ["one leg redacted", [{ applied: true, summary: ["jwt"] }, none], true, ["jwt"]],
    ["the other leg redacted", [none, { applied: true, summary: ["jwt"] }], true, ["jwt"]],
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
  for (const [why, legs, applied, summary] of cases) {
    it(`reads ${why}`, () => {
      assert.deepEqual(mergeRedaction(legs), { redaction_applied: applied, redaction_summary: summary });
    });
  }
});
