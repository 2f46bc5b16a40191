import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  GITLEAKS_LEFT_OUT,
  GITLEAKS_SHAPES,
} from "../../../../core/privacy/redaction/gitleaks-shapes.data.ts";
import { createRedact } from "../../../../core/privacy/redaction/redact.ts";
import { compileShape, type ShapeData } from "../../../../core/privacy/redaction/shape.ts";
import { shannonEntropy } from "../../../../core/privacy/redaction/shape-rules.ts";
import { VENDOR_SHAPES } from "../../../../core/privacy/redaction/vendor-shapes.ts";
import { toShapes } from "../../../../tools/redaction/gitleaks-shapes.ts";
import { readRegex, sampleRegex } from "../../../../tools/redaction/regex-tree.ts";
import { createPick, draw } from "./secret-samples.rig.ts";

const redact = createRedact();
const pick = createPick(11);

/** Returns a credential of a shape, drawn until it has the shape's entropy. */
function sample(shape: ShapeData): string {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const text = sampleRegex(readRegex(shape.pattern), pick);
    if ((shape.offset !== undefined || /\d/.test(text)) && shannonEntropy(text) >= Math.max(shape.entropy, 2))
      return text;
  }
  return assert.fail(`no sample of ${shape.id}`);
}

const isFound = (text: string, secret: string): boolean => {
  const result = redact(text);
  return result.ok && result.summary.length > 0 && !result.text.includes(secret);
};

describe("service_key", () => {
  it("finds a credential of each shape of gitleaks and of the vendors", () => {
    for (const shape of [...GITLEAKS_SHAPES, ...VENDOR_SHAPES]) {
      const secret = sample(shape);
      const text =
        shape.offset === undefined ? `my_${shape.keyword}_value = "${secret}";` : `see ${secret} here`;
      assert.ok(isFound(text, secret), `${shape.id}: ${text}`);
    }
  });

  it("finds a truncated credential with a distinctive start", () => {
    assert.ok(isFound(`key: tskey-auth-${draw(pick, "abc123", 5)}`, "tskey-auth-"));
    assert.deepEqual(redact("a word: rnd_ab"), { ok: true, text: "a word: rnd_ab", summary: [] });
  });

  it("redacts to the end of the run if the credential's length is unbounded", () => {
    const token = `github_pat_${draw(pick, "abcDEF123", 82)}`;
    assert.deepEqual(redact(`x shpat_${draw(pick, "abcdef0123456789", 50)} y`), {
      ok: true,
      text: "x [redacted:cloud_key] y",
      summary: ["cloud_key"],
    });
    assert.ok(isFound(`${token}abc `, "abc"));
  });

  it("finds a credential at the end of a run that is too long to be one", () => {
    const last = `tfp_${"aZ3kQ9vB1xN7pR5tW2mD8".repeat(2)}`;
    assert.deepEqual(redact(`tfp_${"x7".repeat(2_500)}-${last}`), {
      ok: true,
      text: `tfp_${"x7".repeat(2_500)}-[redacted:service_key]`,
      summary: ["service_key"],
    });
  });

  it("finds Discord's bot tokens and webhooks", () => {
    const alphabet = "abcdefghijkmnopqrstuvwxyzABCDEFGH0123456789";
    const token = `M${draw(pick, alphabet, 25)}.${draw(pick, alphabet, 6)}.${draw(pick, alphabet, 38)}`;
    assert.ok(isFound(`client.login('${token}')`, token));
  });

  for (const text of [
    "in a wordtfp_short dapi0123 sk_live SK0123456789 s.getElementsByClassName(x)",
    `x${"AKCp"}${"a".repeat(69)} ${"AKCp"}${"a1".repeat(40)}`,
    "jira = settings.jira; datadog: string, discord=abcdefghijklmnop sonar: sonar.projectKey",
    "asana",
    `AGFzbQEAAAABXg/${"SCW"}${"A7".repeat(8)}B/fX5+fn4AYAA`,
    "Q~ :aa -us azdo",
  ]) {
    it(`leaves ${text.slice(0, 30)}… unchanged`, () => {
      assert.deepEqual(redact(`${text} `), { ok: true, text: `${text} `, summary: [] });
    });
  }

  it("computes entropy in bits per character", () => {
    assert.deepEqual([shannonEntropy("aaaa"), shannonEntropy("abab"), shannonEntropy("abcd")], [0, 1, 2]);
  });

  it("rejects an invalid shape", () => {
    assert.throws(
      () => compileShape({ id: "x", keyword: "x", pattern: "(a|b)", entropy: 0 }),
      /the shape x is invalid/,
    );
  });
});

describe("the shapes of gitleaks", () => {
  it("match the tool's output for the checked-in data", () => {
    const file = new URL("../../../../tools/redaction/gitleaks.data.json", import.meta.url);
    const made = toShapes(JSON.parse(readFileSync(file, "utf8")));
    assert.deepEqual(made, { shapes: GITLEAKS_SHAPES, leftOut: GITLEAKS_LEFT_OUT });
  });
});
