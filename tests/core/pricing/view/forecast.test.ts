import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { forecastMonth } from "../../../../core/pricing/view/forecast.ts";
import { addDays, weekdayOf } from "../../../../core/values/zone.ts";

const daysBefore = (today: string, count: number, value: (date: string, back: number) => bigint) =>
  new Map(
    Array.from({ length: count }, (_, at) => {
      const date = addDays(today, -at - 1);
      return [date, value(date, at + 1)] as const;
    }),
  );

describe("forecastMonth()", () => {
  it("makes no estimate from fewer than 14 days", () => {
    const facts = { today: "2026-11-14", days: daysBefore("2026-11-14", 13, () => 2n), todaySoFar: 1n };
    assert.deepEqual(forecastMonth(facts), { toDate: 27n, days: 13, estimate: null, remaining: [] });
  });

  it("has only today of a month without earlier data", () => {
    const forecast = forecastMonth({ today: "2026-11-14", days: new Map(), todaySoFar: 5n });
    assert.deepEqual(forecast, { toDate: 5n, days: 0, estimate: null, remaining: [] });
  });

  it("treats a missing day as one without usage", () => {
    const today = "2026-11-23";
    const all = daysBefore(today, 28, (_, back) => (back % 2 === 0 ? 0n : 10n));
    const some = new Map([...all].filter(([date, value]) => value > 0n || date === addDays(today, -28)));
    assert.deepEqual(
      forecastMonth({ today, days: some, todaySoFar: 1n }),
      forecastMonth({ today, days: all, todaySoFar: 1n }),
    );
  });

  it("continues a steady week exactly, without a range", () => {
    const today = "2026-11-23";
    const value = (date: string) => (weekdayOf(date) < 5 ? 10n : 1n);
    const { toDate, days, estimate, remaining } = forecastMonth({
      today,
      days: daysBefore(today, 80, value),
      todaySoFar: 4n,
    });
    // 22 days have passed: 15 weekdays and 7 weekend days. Today reaches 10; then four weekdays, a weekend and a Monday.
    assert.deepEqual([toDate, days], [15n * 10n + 7n + 4n, 56]);
    const expected = 15n * 10n + 7n + 10n + 4n * 10n + 2n + 10n;
    assert.deepEqual(estimate, { expected, low: expected, high: expected });
    // The rest of today, then whole days.
    assert.deepEqual(
      remaining.map(({ date, value }) => `${date} ${value}`),
      [
        "2026-11-23 6",
        ...[24, 25, 26, 27].map((day) => `2026-11-${day} 10`),
        ...["2026-11-28 1", "2026-11-29 1", "2026-11-30 10"],
      ],
    );
  });

  it("keeps a day that has already cost more than usual", () => {
    const today = "2026-11-30";
    const { toDate, estimate } = forecastMonth({
      today,
      days: daysBefore(today, 60, () => 1n),
      todaySoFar: 50n,
    });
    assert.equal(estimate?.expected, toDate);
  });

  it("states the same range for the same facts, around the estimate, and never less than what was used", () => {
    const value = fc.bigInt(0n, 10n ** 14n);
    const facts = fc.record({
      today: fc.constantFrom("2026-11-01", "2026-11-23", "2026-11-30", "2026-02-15"),
      values: fc.array(value, { minLength: 14, maxLength: 70 }),
      todaySoFar: value,
    });
    fc.assert(
      fc.property(facts, ({ today, values, todaySoFar }) => {
        const days = daysBefore(today, values.length, (_, back) => values[back - 1] ?? 0n);
        const { toDate, estimate, remaining } = forecastMonth({ today, days, todaySoFar });
        assert.ok(estimate !== null);
        assert.equal(
          remaining.reduce((sum, { value: each }) => sum + each, toDate),
          estimate.expected,
        );
        assert.ok(
          toDate <= estimate.low && estimate.low <= estimate.expected && estimate.expected <= estimate.high,
        );
        assert.deepEqual(forecastMonth({ today, days, todaySoFar }).estimate, estimate);
      }),
    );
  });
});
