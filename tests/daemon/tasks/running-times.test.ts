import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import type { RunningTime } from "../../../core/metering/coverage/running-times.ts";
import type { Log } from "../../../core/ports/log.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import { MINUTE_MS } from "../../../core/values/time.ts";
import { startRunningTimes } from "../../../daemon/tasks/running-times.ts";

describe("startRunningTimes()", () => {
  it("stores the run each minute and at the end, and whole after a failure", () => {
    const clock = createManualClock(1_000);
    const logged: string[] = [];
    const write = (event: string) => void logged.push(event);
    const log: Log = { debug: write, info: write, warn: write, error: write };
    const saved: RunningTime[] = [];
    let failure: Error | null = null;
    const saveRun = (run: RunningTime) => {
      if (failure !== null) throw failure;
      saved.push(run);
    };
    const stop = startRunningTimes({ store: { coverage: { saveRun } }, clock, log });
    assert.deepEqual(saved, [{ from: 1_000, to: 1_000 }]);
    failure = new StoreError("busy", "another process writes");
    clock.advance(MINUTE_MS);
    assert.deepEqual(logged, []);
    failure = new RangeError("a fault");
    clock.advance(MINUTE_MS);
    assert.deepEqual(logged, ["daemon.task_crashed"]);
    failure = null;
    clock.advance(MINUTE_MS);
    clock.advance(500);
    stop();
    clock.advance(10 * MINUTE_MS);
    assert.deepEqual(saved.slice(1), [
      { from: 1_000, to: 1_000 + 3 * MINUTE_MS },
      { from: 1_000, to: 1_500 + 3 * MINUTE_MS },
    ]);
  });
});
