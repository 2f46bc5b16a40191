import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRedact } from "../../../../core/privacy/redaction/redact.ts";
import { createCleanTexts, redactWholeText } from "../../../../core/privacy/redaction/whole-text.ts";

describe("redactWholeText()", () => {
  const redact = createRedact();

  it("adds and removes nothing if there is no secret", () => {
    for (const text of ["", " ", "claude-sonnet-4-5", "ends with sk-"])
      assert.deepEqual(redactWholeText(redact, text), { ok: true, text, summary: [] });
  });

  it("redacts a secret at the end", () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(3)}`;
    assert.deepEqual(redactWholeText(redact, key), {
      ok: true,
      text: "[redacted:private_key]",
      summary: ["private_key"],
    });
    const redaction = redactWholeText(redact, `model ${"sk-ant-api03-"}${"a1B2c3D4".repeat(12)}AA`);
    assert.ok(redaction.ok && /^model \[redacted:\w+\]$/.test(redaction.text), JSON.stringify(redaction));
  });

  it("returns a failure as it is", () => {
    const failed = { ok: false, reason: "rule_failed" } as const;
    assert.deepEqual(
      redactWholeText(() => failed, "x"),
      failed,
    );
  });
});

describe("createCleanTexts()", () => {
  it("keeps short texts, and is emptied if it is full", () => {
    const clean = createCleanTexts(2, 3);
    clean.add("abc");
    clean.add("abcd");
    assert.deepEqual([clean.has("abc"), clean.has("abcd")], [true, false]);
    clean.add("b");
    assert.ok(clean.has("abc") && clean.has("b"));
    clean.add("c");
    assert.deepEqual([clean.has("abc"), clean.has("b"), clean.has("c")], [false, false, true]);
  });
});
