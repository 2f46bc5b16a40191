import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SAVE_DELAY_MS, SEEN_DELAY_MS } from "../../../daemon/limits/limit-tracker.ts";
import { limit } from "../../core/metering/limits/limits.rig.ts";
import { HOUR, openTracker, start, type TrackerRig, unusable } from "./limits.rig.ts";

const names = ({ events }: TrackerRig) =>
  events.map(({ name, level, reading }) => `${name} ${level} ${reading.window}`);

const stored = ({ store }: TrackerRig) =>
  store.limits
    .list()
    .map(({ window, account, usedPpm, seenAt }) => [window, account, usedPpm, seenAt - start]);

const pointsOf = ({ store }: TrackerRig) =>
  store.limits.history(store.limits.list()[0]!.id, 0).map(({ usedPpm, seenAt }) => [usedPpm, seenAt - start]);

describe("createLimitTracker()", () => {
  it("saves what changed once, after the delay", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 100_000 });
    rig.state({ usedPpm: 110_000 });
    rig.state({ window: "7d", usedPpm: 10_000 });
    rig.clock.advance(SAVE_DELAY_MS - 1);
    assert.equal(rig.saves.count, 0);
    rig.clock.advance(1);
    assert.equal(rig.saves.count, 1);
    assert.deepEqual(stored(rig).sort(), [
      ["5h", "a1", 110_000, 0],
      ["7d", "a1", 10_000, 0],
    ]);
    assert.equal(rig.clock.nextTimerMs(), null);
  });

  it("saves only the time at which an unchanged limit was seen, and rarely", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 100_000 });
    rig.clock.advance(SAVE_DELAY_MS);
    for (let second = 0; second < 50; second++) {
      rig.clock.advance(1_000);
      rig.state({ usedPpm: 100_000 });
    }
    assert.equal(rig.saves.count, 1);
    rig.clock.advance(SEEN_DELAY_MS);
    assert.equal(rig.saves.count, 2);
    assert.deepEqual(stored(rig), [["5h", "a1", 100_000, 60_000]]);
    assert.deepEqual(pointsOf(rig), [[100_000, 0]]);
  });

  it("keeps accounts apart, including an unknown one", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 100_000 }, "a1");
    rig.state({ usedPpm: 200_000 }, "a2");
    rig.state({ usedPpm: 300_000 }, null);
    rig.tracker.flush();
    assert.deepEqual(
      rig.store.limits
        .list()
        .map(({ account, usedPpm }) => `${account} ${usedPpm}`)
        .sort(),
      ["a1 100000", "a2 200000", "null 300000"],
    );
  });

  it("stores a history of long windows, and none of rate limits", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 100_000 });
    rig.clock.advance(HOUR);
    rig.state({ usedPpm: 200_000 });
    rig.clock.advance(HOUR);
    assert.deepEqual(pointsOf(rig), [
      [100_000, 0],
      [200_000, HOUR],
    ]);
    const rates = await openTracker();
    rates.state({ window: "1m", windowMs: 60_000, unit: "tokens", usedPpm: 100_000 });
    rates.tracker.flush();
    assert.deepEqual(pointsOf(rates), []);
  });

  it("keeps the higher use of crossing responses, and a reset that differs by seconds", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 120_000 });
    rig.clock.advance(1_000);
    rig.state({ usedPpm: 110_000, resetAt: start + 5 * HOUR + 1_400 });
    rig.tracker.flush();
    const [only] = rig.store.limits.list();
    assert.equal(only?.usedPpm, 120_000);
    assert.equal(only?.resetAt, start + 5 * HOUR);
    assert.equal(only?.seenAt, start + 1_000);
  });

  it("completes a reading without a use, until the window resets", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 990_000 });
    rig.state({ status: "exceeded", resetAt: null });
    rig.tracker.flush();
    assert.deepEqual(stored(rig), [["5h", "a1", 990_000, 0]]);
    rig.clock.advance(6 * HOUR);
    rig.state({ status: "allowed", resetAt: null, windowMs: null });
    rig.tracker.flush();
    assert.deepEqual(stored(rig), [["5h", "a1", null, 6 * HOUR]]);
    assert.equal(rig.store.limits.list()[0]?.windowMs, 5 * HOUR);
  });

  it("names the window that an error does not name", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 980_000 });
    rig.tracker.add({ provider: "anthropic", account: "a1" }, [
      limit({ window: "plan", windowMs: null, resetAt: start + 5 * HOUR, status: "exceeded" }),
    ]);
    rig.tracker.flush();
    assert.deepEqual(
      rig.store.limits.list().map(({ window, status }) => [window, status]),
      [["5h", "exceeded"]],
    );
    assert.deepEqual(names(rig), ["limit.warning critical 5h", "limit.warning exceeded 5h"]);
  });

  it("reads the stored limits again if a read failed at the start", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 850_000 });
    rig.tracker.flush();
    const again = await rig.restart(1);
    again.state({ usedPpm: 860_000 });
    assert.deepEqual([names(again), again.failures], [[], []]);
    const later = await rig.restart(2);
    later.state({ window: "7d", usedPpm: 1 });
    later.state({ usedPpm: 860_000 });
    assert.deepEqual([names(later), later.failures], [[], []]);
  });

  it("reports each warning once, even after a restart", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 800_000 });
    rig.state({ usedPpm: 810_000 });
    rig.tracker.stop();
    assert.deepEqual(names(rig), ["limit.warning warning 5h"]);
    const again = await rig.restart();
    again.state({ usedPpm: 820_000 });
    assert.deepEqual(names(again), []);
    again.clock.advance(6 * HOUR);
    again.state({ usedPpm: 10_000, resetAt: start + 11 * HOUR });
    assert.deepEqual(names(again), ["limit.reset ok 5h"]);
  });

  it("keeps what it could not save, and tries again", async () => {
    const rig = await openTracker();
    rig.break(unusable);
    rig.state({ usedPpm: 100_000 });
    rig.clock.advance(SAVE_DELAY_MS);
    assert.deepEqual(stored(rig), []);
    rig.break(null);
    rig.clock.advance(SAVE_DELAY_MS);
    assert.deepEqual(stored(rig), [["5h", "a1", 100_000, 0]]);
    assert.deepEqual(rig.failures, []);
  });

  it("sets no timer once it is stopped", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 100_000 });
    rig.tracker.stop();
    assert.deepEqual(stored(rig), [["5h", "a1", 100_000, 0]]);
    rig.state({ usedPpm: 200_000 });
    assert.equal(rig.clock.nextTimerMs(), null);
  });

  it("follows a bounded number of windows", async () => {
    const rig = await openTracker();
    for (let index = 0; index < 700; index++) rig.state({ scope: `m${index}`, usedPpm: 1 });
    rig.tracker.flush();
    assert.equal(rig.store.limits.list().length, 500);
    assert.ok(rig.store.limits.list().some(({ scope }) => scope === "m699"));
  });

  it("survives a listener and a store that fail", async () => {
    const rig = await openTracker();
    rig.store.close();
    rig.state({ usedPpm: 100_000 });
    rig.tracker.flush();
    rig.tracker.stop();
    assert.ok(rig.failures.length <= 2);
  });
});
