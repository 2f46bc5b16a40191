import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HOUR_MS } from "../../../core/values/time.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon } from "./sample-records.rig.ts";

const quarter = HOUR_MS / 4;

describe("store.coverage.readHours()", () => {
  it("sums all hosts by hour and kind, from an hour on, and at most so many hours", () =>
    withStore(({ coverage }) => {
      coverage.add([
        { at: noon, host: "a", kind: "metered", count: 2 },
        { at: noon + 3 * quarter, host: "b", kind: "metered", count: 3 },
        { at: noon + 3 * quarter, host: null, kind: "websocket", count: 1 },
        { at: noon + 2 * HOUR_MS, host: "a", kind: "metered", count: 4 },
        { at: noon + 5 * HOUR_MS, host: "a", kind: "free", count: 5 },
      ]);
      const first = [
        { hour: noon, kind: "metered", count: 5 },
        { hour: noon, kind: "websocket", count: 1 },
      ];
      const second = { hour: noon + 2 * HOUR_MS, kind: "metered", count: 4 };
      const third = { hour: noon + 5 * HOUR_MS, kind: "free", count: 5 };
      assert.deepEqual(coverage.readHours(0, 3), [...first, second, third]);
      assert.deepEqual(coverage.readHours(0, 2), [...first, second]);
      assert.deepEqual(coverage.readHours(noon + HOUR_MS, 9), [second, third]);
      assert.deepEqual(coverage.readHours(noon + 6 * HOUR_MS, 9), []);
    }));
});

describe("store.coverage.readTimes()", () => {
  it("sums all hosts by time and kind, and adds up to the sums of the period", () =>
    withStore(({ coverage, insertBatch }) => {
      const counts = Array.from({ length: 40 }, (_, n) => ({
        at: noon - n * 7 * quarter,
        host: n % 2 === 0 ? "a" : null,
        kind: n % 3 === 0 ? ("websocket" as const) : ("metered" as const),
        count: n + 1,
      }));
      insertBatch({ records: [], bodies: [], coverage: counts });
      const period = { from: noon - 60 * HOUR_MS, to: noon + HOUR_MS };
      const sum = (rows: readonly { readonly kind: string; readonly count: number }[], kind: string) =>
        rows.filter((row) => row.kind === kind).reduce((all, { count }) => all + count, 0);
      const check = () => {
        const times = coverage.readTimes(period);
        for (const kind of ["metered", "websocket"])
          assert.equal(sum(times, kind), sum(coverage.read(period), kind));
        assert.ok(times.every(({ at }, n) => n === 0 || at >= (times[n - 1]?.at ?? 0)));
        return times;
      };
      assert.deepEqual(check().at(-1), { at: noon, kind: "websocket", count: 1 });
      // The hosts of a filter and the others are all.
      const of = (not: boolean, ...values: string[]) =>
        sum(coverage.readTimes(period, { not, values }), "metered");
      const known = coverage.read(period).filter(({ host }) => host === "a");
      assert.equal(of(false, "a"), sum(known, "metered"));
      assert.equal(of(false, "a") + of(true, "a"), sum(coverage.read(period), "metered"));
      assert.deepEqual([of(true, "a"), of(false, ""), of(false)], [of(false, ""), of(true, "a", "b"), 0]);
      assert.deepEqual(coverage.readTimes({ from: noon + HOUR_MS, to: null }), []);
    }));
});

describe("store.coverage.readRuns()", () => {
  const run = (from: number, to: number) => ({ from: noon + from * HOUR_MS, to: noon + to * HOUR_MS });

  it("returns the runs of a period with the one before and the one after", () =>
    withStore(({ coverage }) => {
      const runs = [run(0, 1), run(2, 3), run(4, 6), run(7, 8), run(9, 10)];
      for (const each of runs.toReversed()) coverage.saveRun(each);
      const read = (from: number | null, to: number | null) =>
        coverage.readRuns({
          from: from === null ? null : noon + from * HOUR_MS,
          to: to === null ? null : noon + to * HOUR_MS,
        });
      assert.deepEqual(read(null, null), runs);
      assert.deepEqual(read(5, 5.5), runs.slice(1, 4));
      assert.deepEqual(read(6.5, 6.6), runs.slice(2, 4));
      assert.deepEqual(read(20, null), runs.slice(4));
      assert.deepEqual(read(null, -1), runs.slice(0, 1));
    }));

  it("has one run for each start, and none from before a deletion", () =>
    withStore(({ coverage, deletion }) => {
      coverage.saveRun(run(0, 1));
      coverage.saveRun(run(0, 2));
      coverage.saveRun(run(3, 4));
      assert.deepEqual(coverage.readRuns({ from: null, to: null }), [run(0, 2), run(3, 4)]);
      deletion.finish(noon + 3 * HOUR_MS, false);
      assert.deepEqual(coverage.readRuns({ from: null, to: null }), [run(3, 4)]);
    }));
});
