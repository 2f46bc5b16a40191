import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  findMovedHours,
  isWithinHour,
  type Span,
  spanUnit,
  splitByDays,
  usageSpans,
} from "../../../../cloud/store/reads/usage-spans.ts";

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

describe("isWithinHour()", () => {
  it("is false as soon as a period has an instant of a second hour", () => {
    assert.equal(isWithinHour({ from: at("11-01T10:00"), to: at("11-01T11:00") }), true);
    assert.equal(isWithinHour({ from: at("11-01T10:59"), to: at("11-01T11:00") + 1 }), false);
  });
});

describe("spanUnit()", () => {
  it("is a day unless a day could belong to three buckets", () => {
    assert.equal(spanUnit([]), "day");
    assert.equal(spanUnit([at("03-28T23:00"), at("03-29T22:00"), at("04-01T00:00")]), "day");
    assert.equal(spanUnit([at("03-28T23:00"), at("03-29T21:00")]), "hour");
  });
});

describe("findMovedHours()", () => {
  const days = [{ from: at("11-01T00:00"), to: at("11-04T00:00") }];

  it("moves the hours on the shorter side of where days begin", () => {
    assert.deepEqual(findMovedHours(days, [at("11-01T22:00"), at("11-02T22:00")]), {
      hours: [at("11-01T22:00"), at("11-01T23:00"), at("11-02T22:00"), at("11-02T23:00")],
      dayIsIn: "first",
    });
    assert.deepEqual(findMovedHours(days, [at("11-02T02:00")]), {
      hours: [at("11-02T00:00"), at("11-02T01:00")],
      dayIsIn: "last",
    });
  });

  it("moves none where days begin with UTC days, and none outside of the days", () => {
    const none = { hours: [], dayIsIn: "first" };
    assert.deepEqual(findMovedHours(days, [at("11-02T00:00"), at("11-04T05:00"), at("10-31T05:00")]), none);
    assert.deepEqual(findMovedHours([], [at("11-02T05:00")]), none);
  });

  // Planted: a day is put into the bucket of its last hour, and the hours after the bound are moved.
  it("puts each hour into its own bucket", () => {
    const bucketOf = (bounds: readonly number[], time: number) =>
      bounds.filter((bound) => bound <= time).length;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 23 }),
        fc.array(fc.constantFrom(23, 24, 24, 25, 48), { minLength: 1, maxLength: 6 }),
        (first, lengths) => {
          const bounds = [at("11-01T00:00") + first * HOUR];
          for (const length of lengths) bounds.push((bounds.at(-1) ?? 0) + length * HOUR);
          const span = { from: at("11-01T00:00"), to: at("11-16T00:00") };
          const { hours, dayIsIn } = findMovedHours([span], bounds);
          for (let hour = span.from; hour < span.to; hour += HOUR) {
            const day = Math.floor(hour / DAY) * DAY;
            const ofDay = bucketOf(bounds, dayIsIn === "first" ? day : day + DAY - 1);
            const own = hours.includes(hour) ? bucketOf(bounds, hour) : ofDay;
            assert.equal(own, bucketOf(bounds, hour));
          }
        },
      ),
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
