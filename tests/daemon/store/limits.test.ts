import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LimitReading } from "../../../core/metering/limits/stated-limit.ts";
import { reading } from "../../core/metering/limits/limits.rig.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon } from "./sample-records.rig.ts";

const save = (members: Partial<LimitReading>, isPoint = true) => ({
  reading: reading({ seenAt: noon, ...members }),
  isPoint,
});

describe("store.limits", () => {
  it("returns what was saved", () =>
    withStore(({ limits }) => {
      const full = reading({
        provider: "codex",
        account: "a1",
        scope: "spark",
        unit: "credits",
        usedPpm: 1_120_000,
        limit: 2 ** 52,
        remaining: 12.5,
        resetAt: noon + 1,
        status: "exceeded",
        seenAt: noon,
      });
      const empty = reading({ account: null, windowMs: null, seenAt: noon - 1 });
      limits.save([
        { reading: full, isPoint: true },
        { reading: empty, isPoint: false },
      ]);
      assert.deepEqual(limits.list(), [
        { id: 1, ...full },
        { id: 2, ...empty },
      ]);
      assert.deepEqual(limits.history(1, 0), [{ seenAt: noon, usedPpm: 1_120_000, resetAt: noon + 1 }]);
      assert.deepEqual(limits.history(2, 0), []);
    }));

  it("has one row for each window of an account, scope and unit", () =>
    withStore(({ limits }) => {
      const changes = [
        {},
        { usedPpm: 5 },
        { scope: "opus" },
        { unit: "tokens" as const },
        { account: "a2" },
        { window: "7d" },
      ];
      limits.save(changes.map((each) => save(each)));
      limits.save(changes.map((each) => save(each)));
      assert.equal(limits.list().length, 5);
    }));

  it("returns the history from the reading before a time", () =>
    withStore(({ limits }) => {
      for (const at of [10, 20, 30]) limits.save([save({ usedPpm: at, seenAt: noon + at })]);
      const since = (at: number) => limits.history(1, noon + at).map(({ usedPpm }) => usedPpm);
      assert.deepEqual(since(0), [10, 20, 30]);
      assert.deepEqual(since(25), [20, 30]);
      assert.deepEqual(since(30), [20, 30]);
      assert.deepEqual(since(99), [30]);
    }));

  it("trims the oldest windows and readings", () =>
    withStore(({ limits }) => {
      for (const at of [10, 20, 30]) limits.save([save({ usedPpm: at, seenAt: noon + at })]);
      limits.save([save({ scope: "old", seenAt: noon - 1 }), save({ scope: "older", seenAt: noon - 2 })]);
      const bounds = { before: 0, maxWindows: 2, maxPoints: 100 };
      limits.trim(bounds);
      assert.deepEqual(
        limits.list().map(({ scope }) => scope),
        [null, "old"],
      );
      limits.trim({ ...bounds, maxPoints: 2 });
      assert.deepEqual(
        limits.history(1, 0).map(({ usedPpm }) => usedPpm),
        [20, 30],
      );
      limits.trim({ ...bounds, before: noon + 25 });
      assert.deepEqual(
        limits.list().map(({ scope }) => scope),
        [null],
      );
      assert.deepEqual(
        limits.history(1, 0).map(({ usedPpm }) => usedPpm),
        [30],
      );
    }));

  it("is deleted with the records of its time", () =>
    withStore(({ limits, deletion }) => {
      limits.save([save({ usedPpm: 1 }), save({ scope: "old", seenAt: noon - 1 })]);
      deletion.finish(noon, false);
      assert.deepEqual(
        limits.list().map(({ scope }) => scope),
        [null],
      );
      deletion.finish(null, false);
      assert.deepEqual(limits.list(), []);
      assert.deepEqual(limits.history(1, 0), []);
    }));

  it("reads a unit and a status of a newer version as unknown", () =>
    withStore(({ limits }) => {
      const odd = { unit: "parsecs", status: "melting" } as unknown as Partial<LimitReading>;
      limits.save([save(odd)]);
      assert.deepEqual(
        limits.list().map(({ unit, status }) => [unit, status]),
        [["share", null]],
      );
    }));
});
