import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  continueRun,
  findRunningGaps,
  MIN_GAP_MS,
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

describe("findRunningGaps()", () => {
  it("returns the times between runs, within the period", () => {
    const runs = [run(5, 8), run(1, 2), run(2, 3), run(6, 7)];
    for (const [period, expected] of [
      [ever, [run(3, 5)]],
      [{ from: at(4), to: null }, [run(4, 5)]],
      [{ from: null, to: at(4) }, [run(3, 4)]],
      [{ from: at(5), to: at(9) }, []],
      [{ from: 0, to: at(3) }, []],
    ] as const)
      assert.deepEqual(findRunningGaps(runs, period), expected, JSON.stringify(period));
  });

  it("reports no gap without two runs, nor one that is shorter than a crash can be told from", () => {
    assert.deepEqual(findRunningGaps([], ever), []);
    assert.deepEqual(findRunningGaps([run(1, 2)], ever), []);
    const next = (after: number): RunningTime => ({ from: at(2) + after, to: at(3) });
    assert.deepEqual(findRunningGaps([run(1, 2), next(MIN_GAP_MS - 1)], ever), []);
    assert.deepEqual(findRunningGaps([run(1, 2), next(MIN_GAP_MS)], ever), [
      { from: at(2), to: at(2) + MIN_GAP_MS },
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
        for (const gap of findRunningGaps(known, ever)) {
          assert.ok(gap.to - gap.from >= MIN_GAP_MS);
          assert.ok(known.every(({ from, to }) => to <= gap.from || from >= gap.to));
          assert.ok(known.some(({ to }) => to === gap.from) && known.some(({ from }) => from === gap.to));
        }
      }),
    );
  });
});
