import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { stepPeriod } from "../../../../core/pricing/view/step-period.ts";
import { readBounds } from "../../../../core/pricing/view/usage-plan.ts";
import type { UsageQuery } from "../../../../core/pricing/view/usage-query.ts";
import { findZone } from "../../../../core/values/zone.ts";
import { USAGE_PERIODS } from "../../../../core/wire/usage.ts";

type Period = UsageQuery["period"];

const now = Date.UTC(2026, 10, 23, 13, 30);
const zone = findZone("Europe/Berlin");
assert.ok(zone !== null);
const facts = { now, zone };

const days = (from: string, to: string | null): Period => ({ from, to });

describe("stepPeriod()", () => {
  const table: readonly (readonly [period: Period, previous: Period | null, next: Period | null])[] = [
    ["today", days("2026-11-22", "2026-11-23"), null],
    ["7d", days("2026-11-10", "2026-11-17"), null],
    ["30d", days("2026-09-25", "2026-10-25"), null],
    ["mtd", "month", null],
    ["month", days("2026-09-01", "2026-10-01"), "mtd"],
    ["12m", days("2024-12-01", "2025-12-01"), null],
    // A day, and the bar of one.
    [days("2026-11-22", "2026-11-23"), days("2026-11-21", "2026-11-22"), "today"],
    [days("2026-11-21T23:00:00.000Z", "2026-11-22T23:00:00.000Z"), days("2026-11-21", "2026-11-22"), "today"],
    // The day of 25 hours.
    [days("2026-10-25", "2026-10-26"), days("2026-10-24", "2026-10-25"), days("2026-10-26", "2026-10-27")],
    [days("2026-11-10", "2026-11-17"), days("2026-11-03", "2026-11-10"), "7d"],
    // Months differ in length.
    [days("2026-01-01", "2026-03-01"), days("2025-11-01", "2026-01-01"), days("2026-03-01", "2026-05-01")],
    [days("2026-11-20", null), days("2026-11-16", "2026-11-20"), null],
    // An hour.
    [
      days("2026-11-23T12:00:00Z", "2026-11-23T13:00:00Z"),
      days("2026-11-23T11:00:00.000Z", "2026-11-23T12:00:00.000Z"),
      days("2026-11-23T13:00:00.000Z", "2026-11-23T14:00:00.000Z"),
    ],
    [
      days("2026-11-23T13:00:00Z", "2026-11-23T14:00:00Z"),
      days("2026-11-23T12:00:00.000Z", "2026-11-23T13:00:00.000Z"),
      null,
    ],
    [
      days("2026-11-22T23:00:00Z", "2026-11-23T00:00:00Z"),
      days("2026-11-22T22:00:00.000Z", "2026-11-22T23:00:00.000Z"),
      days("2026-11-23T00:00:00.000Z", "2026-11-23T01:00:00.000Z"),
    ],
    // The beginning of time, and what is no period.
    [days("1971-01-01", "1971-01-02"), null, days("1971-01-02", "1971-01-03")],
    [
      days("1970-01-01T00:00:00Z", "1970-01-01T01:00:00Z"),
      null,
      days("1970-01-01T01:00:00.000Z", "1970-01-01T02:00:00.000Z"),
    ],
    [days("yesterday", null), null, null],
  ];
  for (const [period, previous, next] of table)
    it(`moves ${JSON.stringify(period)}`, () => {
      assert.deepEqual(stepPeriod(period, "previous", facts), previous);
      assert.deepEqual(stepPeriod(period, "next", facts), next);
    });

  // Found: months moved by days; the end of today taken as now.
  it("leads back to the same period, without a gap", () => {
    const aPeriod = fc.oneof(
      fc.constantFrom<Period>(...USAGE_PERIODS),
      fc.tuple(fc.integer({ min: 1, max: 80 }), fc.nat(600)).map(([length, ago]): Period => {
        const day = (at: number) => new Date(now - at * 86_400_000).toISOString().slice(0, 10);
        return { from: day(ago + length), to: day(ago) };
      }),
    );
    fc.assert(
      fc.property(
        aPeriod,
        fc.constantFrom("Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"),
        (period, name) => {
          const calendar = findZone(name);
          assert.ok(calendar !== null);
          const each = { now, zone: calendar };
          const previous = stepPeriod(period, "previous", each);
          assert.ok(previous !== null);
          const [bounds, before] = [period, previous].map((one) =>
            readBounds({ period: one }, now, calendar),
          );
          assert.ok(bounds !== undefined && before !== undefined && "to" in bounds && "to" in before);
          assert.equal(before.to, bounds.from);
          const back = stepPeriod(previous, "next", each);
          assert.ok(back !== null);
          // Its name, if it has one.
          const again = readBounds({ period: back }, now, calendar);
          assert.ok("from" in again);
          assert.equal(again.from, bounds.from);
          if (typeof period === "string") assert.equal(back, period);
        },
      ),
    );
  });
});
