import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lastSummaryMonday, summaryDays } from "../../../../core/pricing/view/summary-week.ts";
import { findZone } from "../../../../core/values/zone.ts";

describe("lastSummaryMonday()", () => {
  it("is the last Monday in the zone that is past 8 o'clock", () => {
    for (const [zone, now, monday] of [
      ["UTC", "2026-11-23T07:59:59Z", "2026-11-16"],
      ["UTC", "2026-11-23T08:00:00Z", "2026-11-23"],
      ["UTC", "2026-11-29T23:59:59Z", "2026-11-23"],
      ["Pacific/Auckland", "2026-11-22T18:59:59Z", "2026-11-16"],
      ["Pacific/Auckland", "2026-11-22T19:00:00Z", "2026-11-23"],
      ["America/Los_Angeles", "2026-11-23T15:59:59Z", "2026-11-16"],
      // Clocks went back on this day, so its morning began an hour later.
      ["Europe/Berlin", "2026-10-26T07:00:00Z", "2026-10-26"],
    ] as const) {
      const calendar = findZone(zone);
      assert.ok(calendar !== null);
      assert.equal(lastSummaryMonday(Date.parse(now), calendar), monday, `${zone} ${now}`);
    }
  });
});

describe("summaryDays()", () => {
  it("are the seven days before the Monday", () => {
    assert.deepEqual(summaryDays("2026-11-02"), { from: "2026-10-26", to: "2026-11-01" });
  });
});
