import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { delay } from "../../../daemon/cloud/delay.ts";

describe("delay()", () => {
  it("resolves after the delay, and not before", async () => {
    const clock = createManualClock(0);
    let isOver = false;
    const paused = delay(clock, 100).then(() => {
      isOver = true;
    });
    clock.advance(99);
    await Promise.resolve();
    assert.equal(isOver, false);
    clock.advance(1);
    await paused;
    assert.equal(isOver, true);
  });
});
