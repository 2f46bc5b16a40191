import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Span, splitByDays, usageSpans } from "../../../../cloud/store/reads/usage-spans.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (text: string) => Date.parse(`2026-${text}Z`);

describe("usageSpans()", () => {
  it("uses days only for whole days", () => {
    const period = { from: at("11-01T00:00"), to: at("11-04T00:00") };
    assert.deepEqual(usageSpans(period, "day"), { days: period, hours: [], rows: [] });
    assert.deepEqual(usageSpans(period, "hour"), { days: null, hours: [period], rows: [] });
  });

  it("uses hours on both sides of the days", () => {
    assert.deepEqual(usageSpans({ from: at("11-01T22:00"), to: at("11-03T05:00") }, "day"), {
      days: { from: at("11-02T00:00"), to: at("11-03T00:00") },
      hours: [
        { from: at("11-01T22:00"), to: at("11-02T00:00") },
        { from: at("11-03T00:00"), to: at("11-03T05:00") },
      ],
      rows: [],
    });
  });

  it("reads the shorter part of an hour at an edge, and subtracts it from the hour or adds it", () => {
    assert.deepEqual(usageSpans({ from: at("11-01T10:10"), to: at("11-01T15:20") }, "day"), {
      days: null,
      hours: [{ from: at("11-01T10:00"), to: at("11-01T15:00") }],
      rows: [
        { from: at("11-01T10:00"), to: at("11-01T10:10"), sign: -1 },
        { from: at("11-01T15:00"), to: at("11-01T15:20"), sign: 1 },
      ],
    });
    assert.deepEqual(usageSpans({ from: at("11-01T10:40"), to: at("11-01T15:50") }, "day"), {
      days: null,
      hours: [{ from: at("11-01T11:00"), to: at("11-01T16:00") }],
      rows: [
        { from: at("11-01T10:40"), to: at("11-01T11:00"), sign: 1 },
        { from: at("11-01T15:50"), to: at("11-01T16:00"), sign: -1 },
      ],
    });
  });

  // Planted: rounding down instead of to the nearest hour; and days rounded up at the end.
  it("covers each instant of the period exactly once, with at most half an hour of rows at each end", () => {
    const anchor = at("11-01T00:00");
    const instant = fc.oneof(
      fc.integer({ min: 0, max: 5 * 24 }).map((hours) => anchor + hours * HOUR),
      fc.integer({ min: 0, max: 5 * 24 * 4 }).map((quarters) => anchor + (quarters * HOUR) / 4),
      fc.integer({ min: 0, max: 5 * DAY }).map((offset) => anchor + offset),
    );
    fc.assert(
      fc.property(instant, instant, fc.constantFrom("hour", "day"), instant, (one, other, bucket, probe) => {
        const period = { from: Math.min(one, other), to: Math.max(one, other) };
        const { days, hours, rows } = usageSpans(period, bucket);
        const whole = [...(days === null ? [] : [days]), ...hours];
        const within = ({ from, to }: Span, x: number) => x >= from && x < to;
        for (const x of [probe, period.from - 1, period.from, period.to - 1, period.to]) {
          const count =
            whole.filter((span) => within(span, x)).length +
            rows.reduce((sum, span) => sum + (within(span, x) ? span.sign : 0), 0);
          assert.equal(count, within(period, x) ? 1 : 0);
        }
        for (const { from, to } of hours) assert.deepEqual([from % HOUR, to % HOUR], [0, 0]);
        if (days !== null) assert.deepEqual([days.from % DAY, days.to % DAY], [0, 0]);
        if (period.to - period.from >= HOUR) {
          for (const { from, to } of rows) assert.ok(to > from && to - from <= HOUR / 2);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("splitByDays()", () => {
  it("cuts some days out of a period, at its edges too", () => {
    const period = { from: at("11-01T10:10"), to: at("11-05T08:00") };
    const days = [at("11-05T00:00"), at("11-01T00:00"), at("11-03T00:00")];
    assert.deepEqual(splitByDays(period, days), {
      summed: [
        { from: at("11-02T00:00"), to: at("11-03T00:00") },
        { from: at("11-04T00:00"), to: at("11-05T00:00") },
      ],
      unsummed: [
        { from: at("11-01T10:10"), to: at("11-02T00:00") },
        { from: at("11-03T00:00"), to: at("11-04T00:00") },
        { from: at("11-05T00:00"), to: at("11-05T08:00") },
      ],
    });
    assert.deepEqual(splitByDays(period, []), { summed: [period], unsummed: [] });
  });
});
