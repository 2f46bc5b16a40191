import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { adviseOnCoverage, coverageGapKinds } from "../../../../core/metering/coverage/coverage-advice.ts";
import {
  type CoverageKind,
  type CoverageTotal,
  coverageKinds,
} from "../../../../core/metering/coverage/coverage-kinds.ts";
import {
  describeBlocked,
  describeCoverageCount,
  summariseCoverage,
} from "../../../../core/metering/coverage/coverage-summary.ts";

const total = (
  kind: CoverageKind,
  count: number,
  host: string | null = "api.anthropic.com",
): CoverageTotal => ({
  host,
  kind,
  count,
});

describe("summariseCoverage()", () => {
  it("has no share if nothing was seen", () => {
    assert.deepEqual(summariseCoverage([]), {
      metered: 0,
      seen: 0,
      permille: null,
      missing: [],
      blocked: 0,
      interrupted: 0,
      withoutUsage: 0,
      notStored: [],
      unlisted: [],
    });
  });

  it("adds up the hosts and counts what was not metered as seen", () => {
    const summary = summariseCoverage([
      total("metered", 8),
      total("metered", 1, "api.openai.com"),
      total("unknown_path", 1),
      total("unknown_path", 1, "api.openai.com"),
      total("lost", 1),
    ]);
    assert.equal(summary.metered, 9);
    assert.equal(summary.seen, 12);
    assert.equal(summary.permille, 750);
    assert.deepEqual(summary.missing, [
      { kind: "unknown_path", count: 2 },
      { kind: "lost", count: 1 },
    ]);
  });

  it("counts calls that budgets refused apart from those that were seen", () => {
    const summary = summariseCoverage([
      total("metered", 1),
      total("blocked", 2),
      total("blocked", 1, "a.com"),
    ]);
    assert.deepEqual([summary.blocked, summary.seen, summary.permille, summary.missing], [3, 1, 1000, []]);
    assert.equal(describeBlocked(1), "1 call was refused by a budget and not sent.");
    assert.equal(describeBlocked(1_200), "1,200 calls were refused by budgets and not sent.");
  });

  it("counts the ends of the daemon apart from calls", () => {
    const summary = summariseCoverage([total("metered", 1), total("interrupted", 2, null)]);
    assert.deepEqual(
      [summary.interrupted, summary.seen, summary.permille, summary.missing],
      [2, 1, 1000, []],
    );
  });

  it("does not count parts of metered calls, or connections that are not calls, as seen", () => {
    const summary = summariseCoverage([
      total("connections", 50),
      total("closed_unused", 40),
      total("tunnelled_not_provider", 7, null),
      total("free", 3),
      total("metered", 4),
      total("without_usage", 1),
      total("prompt_not_kept", 2),
      total("body_not_kept", 3),
    ]);
    assert.equal(summary.seen, 4);
    assert.equal(summary.permille, 1000);
    assert.equal(summary.withoutUsage, 1);
    assert.deepEqual(summary.notStored, [
      { kind: "prompt_not_kept", count: 2 },
      { kind: "body_not_kept", count: 3 },
    ]);
  });

  it("rounds the share down, so that 1000 means all", () => {
    assert.equal(summariseCoverage([total("metered", 99_999), total("lost", 1)]).permille, 999);
  });
});

describe("describeCoverageCount()", () => {
  it("uses the singular for one", () => {
    assert.equal(describeCoverageCount("lost", 1), "connection that the meter could not read in time");
    assert.equal(describeCoverageCount("lost", 2), "connections that the meter could not read in time");
  });

  it("returns the name of a kind that has no description", () => {
    assert.equal(describeCoverageCount("free", 2), "free");
  });
});

describe("coverageKinds", () => {
  const withoutGap = [
    ...[
      "connections",
      "closed_unused",
      "tunnelled_not_provider",
      "tunnelled_other_user",
      "metered",
      "free",
      "repeated",
      "blocked",
    ],
    ...["body_too_large", "body_not_utf8", "body_not_redactable"],
    // Hosts that are no provider's. They are described by name.
    ...["unlisted_openai", "unlisted_anthropic", "unlisted_gemini", "unlisted_tunnel"],
  ];

  it("has a description for every kind that is a gap in the metering", () => {
    const same = coverageKinds.filter((kind) => describeCoverageCount(kind, 2) === kind);
    assert.deepEqual(same, withoutGap);
  });

  it("has advice for every kind that is a gap in the metering", () => {
    const without = coverageKinds.filter((kind) => adviseOnCoverage(kind) === null);
    assert.deepEqual(without, withoutGap);
    assert.deepEqual(
      coverageKinds.filter((kind) => !withoutGap.includes(kind)).sort(),
      [...coverageGapKinds].sort(),
    );
  });
});
