import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { systemClock } from "../../../adapters/clock/system-clock.ts";

describe("createManualClock()", () => {
  it("does not advance by itself", () => {
    const clock = createManualClock(1_000);
    assert.equal(clock.now(), 1_000);
    clock.advance(500);
    assert.equal(clock.now(), 1_500);
  });

  it("runs timers at their exact time, in the order of time and then of setting, including new ones", () => {
    const clock = createManualClock(0);
    const fired: string[] = [];
    const note = (name: string) => () => void fired.push(`${name} ${clock.now()}`);
    clock.setTimer(20, note("late"));
    clock.setTimer(10, () => {
      note("early")();
      clock.setTimer(5, note("nested"));
    });
    clock.setTimer(10, note("second"));
    clock.setTimer(-5, note("now"));
    clock.setTimer(21, note("beyond"));
    clock.advance(20);
    assert.deepEqual(fired, ["now 0", "early 10", "second 10", "nested 15", "late 20"]);
    assert.equal(clock.now(), 20);
    assert.equal(clock.nextTimerMs(), 1);
  });

  it("does not run cancelled timers; cancelling twice or too late does nothing", () => {
    const clock = createManualClock(0);
    let fired = 0;
    const cancel = clock.setTimer(10, () => fired++);
    const done = clock.setTimer(5, () => fired++);
    cancel();
    cancel();
    clock.advance(10);
    done();
    assert.equal(fired, 1);
    assert.equal(clock.nextTimerMs(), null);
  });

  it("sets the time without affecting timers", () => {
    const clock = createManualClock(1_000);
    let firedAt = 0;
    clock.setTimer(100, () => {
      firedAt = clock.now();
    });
    clock.jump(5_000_000);
    assert.equal(clock.nextTimerMs(), 100);
    clock.advance(100);
    assert.equal(firedAt, 5_000_100);
  });
});

describe("systemClock", () => {
  it("returns the time and runs a timer once", async () => {
    assert.ok(Math.abs(systemClock.now() - Date.now()) < 1_000);
    await new Promise<void>((resolve) => systemClock.setTimer(0, resolve));
  });

  it("limits a delay to the runtime's maximum instead of firing at once", async () => {
    let fired = false;
    const cancel = systemClock.setTimer(1e12, () => {
      fired = true;
    });
    await new Promise<void>((resolve) => systemClock.setTimer(5, resolve));
    assert.equal(fired, false);
    cancel();
    cancel();
  });
});
