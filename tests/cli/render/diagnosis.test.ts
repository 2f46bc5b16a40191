import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderDiagnosis } from "../../../cli/render/diagnosis.ts";
import type { Finding } from "../../../core/doctor/mod.ts";

const finding = (
  level: Finding["level"],
  check: string,
  says: string,
  cure: string | null = null,
): Finding => ({
  level,
  check,
  says,
  cure,
  fix: null,
});

describe("renderDiagnosis()", () => {
  it("says the verdict in one line, the worst first, and breaks lines between words", () => {
    const findings = [
      finding("ok", "clock", "nothing speaks against it"),
      finding("inconsistent", "prices", "the newest is 120 days old, and so on", "meter pricing refresh"),
      finding("broken", "daemon", "it does not run", "meter start"),
    ];
    assert.equal(
      renderDiagnosis({ verdict: "BROKEN", findings }, 48),
      [
        "BROKEN: 1 thing broken, 1 thing to look at",
        "BROKEN  daemon     it does not run",
        "                   meter start",
        "look    prices     the newest is 120 days old,",
        "                   and so on",
        "                   meter pricing refresh",
        "ok      clock      nothing speaks against it",
      ].join("\n"),
    );
  });

  it("counts only what is wrong", () => {
    const findings = [finding("note", "service", "none"), finding("ok", "daemon", "it runs")];
    assert.match(renderDiagnosis({ verdict: "HEALTHY", findings }, 80), /^HEALTHY\n/);
    const odd = [finding("inconsistent", "a", "b"), finding("inconsistent", "c", "d")];
    assert.match(
      renderDiagnosis({ verdict: "INCONSISTENT", findings: odd }, 80),
      /^INCONSISTENT: 2 things to look at\n/,
    );
  });

  it("never breaks a cure, and lets no control character through", () => {
    const cure = "meter stop && meter start && meter init --yes";
    const said = renderDiagnosis(
      { verdict: "BROKEN", findings: [finding("broken", "port", "a\u001b[31mb", cure)] },
      30,
    );
    assert.ok(said.endsWith(`\n                   ${cure}`));
    assert.ok(!said.includes("\u001b"));
  });
});
