import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../adapters/clock/mod.ts";
import { pause } from "../../daemon/pause.ts";

describe("pause()", () => {
  it("resolves when the clock has moved on so far, and not before", async () => {
    const clock = createManualClock(0);
    let isOver = false;
    const paused = pause(clock, 100).then(() => {
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
