import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderFinding, renderVerdict } from "../../../../cli/commands/doctor/render-diagnosis.ts";
import type { Finding } from "../../../../core/operations/doctor/finding.ts";

const finding = (
  level: Finding["level"],
  check: string,
  message: string,
  fixCommand: string | null = null,
): Finding => ({
  level,
  check,
  message,
  fixCommand,
  automaticFix: null,
});

describe("renderFinding()", () => {
  it("wraps messages between words, and never wraps a fix", () => {
    const odd = finding(
      "inconsistent",
      "prices",
      "the newest is 120 days old, and so on",
      "meter pricing refresh --now",
    );
    assert.equal(
      renderFinding(odd, 48),
      [
        "check   prices     the newest is 120 days old,",
        "                   and so on",
        "                   meter pricing refresh --now",
      ].join("\n"),
    );
    assert.equal(renderFinding(finding("ok", "daemon", "it runs"), 80), "ok      daemon     it runs");
  });

  it("removes control characters", () => {
    const said = renderFinding(finding("broken", "port", "a\u001b[31mb", "meter start"), 30);
    assert.ok(!said.includes("\u001b"));
  });
});

describe("renderVerdict()", () => {
  it("counts only what is wrong", () => {
    const [odd, bad, fine] = [
      finding("inconsistent", "a", "b"),
      finding("broken", "c", "d"),
      finding("ok", "e", "f"),
    ];
    assert.equal(
      renderVerdict({ verdict: "HEALTHY", findings: [fine, finding("note", "g", "h")] }),
      "HEALTHY",
    );
    assert.equal(
      renderVerdict({ verdict: "INCONSISTENT", findings: [odd, odd, fine] }),
      "INCONSISTENT: 2 inconsistencies",
    );
    assert.equal(
      renderVerdict({ verdict: "BROKEN", findings: [bad, odd] }),
      "BROKEN: 1 check failed, 1 inconsistency",
    );
  });
});
