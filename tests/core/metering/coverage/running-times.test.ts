import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  continueRun,
  findSharedStoppedTimes,
  findStoppedTimes,
  MIN_STOP_MS,
  measureStoppedMs,
  type RunningTime,
} from "../../../../core/metering/coverage/running-times.ts";
import { HOUR_MS, MINUTE_MS } from "../../../../core/values/time.ts";

const at = (hours: number) => hours * HOUR_MS;
const run = (from: number, to: number): RunningTime => ({ from: at(from), to: at(to) });
const ever = { from: null, to: null };

describe("continueRun()", () => {
  it("extends a run, and begins one after a sleep or a clock that was set back", () => {
    const known = run(1, 2);
    for (const [now, expected] of [
      [known.to, known],
      [known.to + MINUTE_MS, { from: known.from, to: known.to + MINUTE_MS }],
      [known.to + 3 * MINUTE_MS, { from: known.from, to: known.to + 3 * MINUTE_MS }],
      [
        known.to + 3 * MINUTE_MS + 1,
        { from: known.to + 3 * MINUTE_MS + 1, to: known.to + 3 * MINUTE_MS + 1 },
      ],
      [known.to - 1, { from: known.to - 1, to: known.to - 1 }],
    ] as const)
      assert.deepEqual(continueRun(known, now), expected, String(now));
  });
});

describe("findStoppedTimes()", () => {
  it("returns the times between runs, within the period", () => {
    const runs = [run(5, 8), run(1, 2), run(2, 3), run(6, 7)];
    for (const [period, expected] of [
      [ever, [run(3, 5)]],
      [{ from: at(4), to: null }, [run(4, 5)]],
      [{ from: null, to: at(4) }, [run(3, 4)]],
      [{ from: at(5), to: at(9) }, []],
      [{ from: 0, to: at(3) }, []],
    ] as const)
      assert.deepEqual(findStoppedTimes(runs, period), expected, JSON.stringify(period));
  });

  it("reports no stop without two runs, and none that a crash alone could cause", () => {
    assert.deepEqual(findStoppedTimes([], ever), []);
    assert.deepEqual(findStoppedTimes([run(1, 2)], ever), []);
    const next = (after: number): RunningTime => ({ from: at(2) + after, to: at(3) });
    assert.deepEqual(findStoppedTimes([run(1, 2), next(MIN_STOP_MS - 1)], ever), []);
    assert.deepEqual(findStoppedTimes([run(1, 2), next(MIN_STOP_MS)], ever), [
      { from: at(2), to: at(2) + MIN_STOP_MS },
    ]);
  });

  // Found a version that took the end of the latest run instead of the latest end.
  it("never reports a time in which a run was known, whatever the order", () => {
    const minutes = fc.integer({ min: 0, max: 60 });
    const runs = fc.array(
      fc.tuple(minutes, minutes).map(([one, other]) => ({
        from: Math.min(one, other) * MINUTE_MS,
        to: Math.max(one, other) * MINUTE_MS,
      })),
    );
    fc.assert(
      fc.property(runs, (known) => {
        for (const time of findStoppedTimes(known, ever)) {
          assert.ok(time.to - time.from >= MIN_STOP_MS);
          assert.ok(known.every(({ from, to }) => to <= time.from || from >= time.to));
          assert.ok(known.some(({ to }) => to === time.from) && known.some(({ from }) => from === time.to));
        }
      }),
    );
  });
});

describe("findSharedStoppedTimes()", () => {
  const period = { from: 0, to: at(24) };

  it("returns the times in which no machine ran", () => {
    const laptop = [run(0, 8), run(12, 20)];
    assert.deepEqual(findSharedStoppedTimes([laptop], period), [run(8, 12)]);
    assert.deepEqual(findSharedStoppedTimes([laptop, [run(0, 9), run(11, 24)]], period), [run(9, 11)]);
    assert.deepEqual(findSharedStoppedTimes([laptop, [run(0, 24)]], period), []);
    assert.deepEqual(findSharedStoppedTimes([], period), []);
  });

  it("has no stop between the last run of a machine and the first one of another", () => {
    assert.deepEqual(findSharedStoppedTimes([[run(0, 4)], [run(10, 12), run(14, 15)]], period), [
      run(12, 14),
    ]);
  });
});

describe("measureStoppedMs()", () => {
  it("adds up the stopped time within each span", () => {
    const spans = [run(0, 4), run(4, 5), run(5, 8), run(8, 9)];
    assert.deepEqual(measureStoppedMs([run(1, 2), run(3, 6), run(7, 8)], spans), [at(2), at(1), at(2), 0]);
    assert.deepEqual(measureStoppedMs([], spans), [0, 0, 0, 0]);
  });

  it("divides stopped times among the spans of a period", () => {
    const hours = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(hours, fc.integer({ min: 1, max: 20 }), (edges, step) => {
        const sorted = edges.toSorted((one, other) => one - other);
        const stopped = sorted.flatMap((from, n) =>
          n % 2 === 0 && n + 1 < sorted.length ? [run(from, sorted[n + 1]!)] : [],
        );
        const spans = Array.from({ length: Math.ceil(60 / step) }, (_, n) => run(n * step, (n + 1) * step));
        const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0);
        assert.equal(sum(measureStoppedMs(stopped, spans)), sum(stopped.map(({ from, to }) => to - from)));
      }),
    );
  });
});
