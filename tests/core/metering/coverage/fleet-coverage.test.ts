import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { COVERAGE_STALE_MS, findCoverageState } from "../../../../core/metering/coverage/fleet-coverage.ts";

describe("findCoverageState()", () => {
  it("is stale only if the machine was seen within the period and long after its last report", () => {
    const later = COVERAGE_STALE_MS + 1;
    for (const [reportedAt, lastSeenAt, to, state] of [
      [null, null, 0, "unknown"],
      [null, 5, 9, "unknown"],
      [10, null, 10 + later, "current"],
      [10, 10 + COVERAGE_STALE_MS, 10 + later, "current"],
      [10, 10 + later, 10 + later, "stale"],
      [10, 10 + later, 10 + COVERAGE_STALE_MS, "current"],
      [10, 5, 10 + later, "current"],
    ] as const)
      assert.equal(
        findCoverageState({ reportedAt, lastSeenAt }, to),
        state,
        `${reportedAt} ${lastSeenAt} ${to}`,
      );
  });
});
