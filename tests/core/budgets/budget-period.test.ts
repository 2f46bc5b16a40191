import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { BudgetPeriod } from "../../../core/budgets/budget.ts";
import { budgetPeriod } from "../../../core/budgets/budget-period.ts";

const boundsOf = (period: BudgetPeriod, at: string) => {
  const { from, to } = budgetPeriod({ period }, Date.parse(at));
  return [new Date(from).toISOString(), to === null ? null : new Date(to).toISOString()];
};

describe("budgetPeriod()", () => {
  const cases: [BudgetPeriod, at: string, from: string, to: string | null][] = [
    [{ kind: "total" }, "2026-11-18T12:00:00Z", "1970-01-01T00:00:00.000Z", null],
    [
      { kind: "day", zone: "UTC" },
      "2026-11-18T12:00:00Z",
      "2026-11-18T00:00:00.000Z",
      "2026-11-19T00:00:00.000Z",
    ],
    // 2026-03-29: the clocks of Berlin skip an hour.
    [
      { kind: "day", zone: "Europe/Berlin" },
      "2026-03-29T12:00:00Z",
      "2026-03-28T23:00:00.000Z",
      "2026-03-29T22:00:00.000Z",
    ],
    // 2026-10-25: they show an hour twice.
    [
      { kind: "day", zone: "Europe/Berlin" },
      "2026-10-25T12:00:00Z",
      "2026-10-24T22:00:00.000Z",
      "2026-10-25T23:00:00.000Z",
    ],
    [
      { kind: "week", zone: "America/New_York" },
      "2026-11-01T12:00:00Z",
      "2026-10-26T04:00:00.000Z",
      "2026-11-02T05:00:00.000Z",
    ],
    [
      { kind: "month", zone: "Asia/Kolkata" },
      "2026-12-31T18:30:00Z",
      "2026-12-31T18:30:00.000Z",
      "2027-01-31T18:30:00.000Z",
    ],
    // The clocks of Santiago skip midnight: the day begins at one.
    [
      { kind: "day", zone: "America/Santiago" },
      "2026-09-06T12:00:00Z",
      "2026-09-06T04:00:00.000Z",
      "2026-09-07T03:00:00.000Z",
    ],
    // The clocks of Havana show midnight twice: the day begins with the first.
    [
      { kind: "day", zone: "America/Havana" },
      "2026-11-01T12:00:00Z",
      "2026-11-01T04:00:00.000Z",
      "2026-11-02T05:00:00.000Z",
    ],
    // The clocks of St John's went back from 00:01 to 23:01: the evening that they showed again belongs to the new day.
    [
      { kind: "day", zone: "America/St_Johns" },
      "2010-11-07T03:00:00Z",
      "2010-11-07T02:30:00.000Z",
      "2010-11-08T03:30:00.000Z",
    ],
    [
      { kind: "hour", zone: "Asia/Kolkata" },
      "2026-11-18T12:10:00Z",
      "2026-11-18T11:30:00.000Z",
      "2026-11-18T12:30:00.000Z",
    ],
    // The clocks of Lord Howe Island go back from 02:00 to 01:30, in the middle of an hour.
    [
      { kind: "hour", zone: "Australia/Lord_Howe" },
      "2026-04-04T15:10:00Z",
      "2026-04-04T15:00:00.000Z",
      "2026-04-04T16:00:00.000Z",
    ],
    [{ kind: "rolling", lengthMs: 3_600_000 }, "2026-11-18T12:00:59Z", "2026-11-18T11:00:00.000Z", null],
  ];
  for (const [period, at, from, to] of cases)
    it(`bounds ${JSON.stringify(period)} at ${at}`, () => {
      assert.deepEqual(boundsOf(period, at), [from, to]);
    });

  it("rejects a time zone that the runtime does not know", () => {
    assert.throws(() => budgetPeriod({ period: { kind: "day", zone: "Mars/Base" } }, 0), {
      name: "RangeError",
      message: "The runtime does not know the time zone: Mars/Base",
    });
  });

  it("puts every time into one period, and its neighbours into the next ones", () => {
    const zones = [
      "UTC",
      "Europe/Berlin",
      "America/New_York",
      "America/Santiago",
      "America/Havana",
      "Asia/Kolkata",
    ];
    fc.assert(
      fc.property(
        fc.constantFrom("hour" as const, "day" as const, "week" as const, "month" as const),
        fc.constantFrom(...zones, "Australia/Lord_Howe", "Pacific/Apia"),
        fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2030, 0) }),
        (kind, zone, now) => {
          const budget = { period: { kind, zone } };
          const { from, to } = budgetPeriod(budget, now);
          assert.ok(to !== null && from <= now && now < to);
          assert.deepEqual(budgetPeriod(budget, from), { from, to });
          assert.deepEqual(budgetPeriod(budget, to - 1), { from, to });
          assert.equal(budgetPeriod(budget, to).from, to);
        },
      ),
      { numRuns: 300 },
    );
  });
});
