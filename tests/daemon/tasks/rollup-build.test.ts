import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import { startRollupBuild } from "../../../daemon/tasks/rollup-build.ts";

/** A build whose steps have these results, in turn; `false` afterwards. */
function setUp(results: readonly (boolean | Error)[]) {
  const clock = createManualClock(0);
  const logged: object[] = [];
  const write = (event: string, fields: object) => void logged.push({ event, ...fields });
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const steps: number[] = [];
  const buildSome = (now: number) => {
    const result = results[steps.length] ?? false;
    steps.push(now);
    if (result instanceof Error) throw result;
    return result;
  };
  const stop = startRollupBuild({ store: { rollups: { buildSome } }, clock, log });
  return { clock, logged, steps, stop };
}

describe("startRollupBuild()", () => {
  it("builds in steps with pauses, looks again every minute, and stops", () => {
    const { clock, logged, steps, stop } = setUp([true, true, false, true]);
    clock.advance(60_000);
    assert.deepEqual(steps, [2_000, 2_020, 2_040]);
    clock.advance(3_000);
    assert.deepEqual(steps.slice(3), [62_040, 62_060]);
    stop();
    clock.advance(200_000);
    assert.equal(steps.length, 5);
    assert.deepEqual(logged, []);
  });

  it("tries again soon after a lock, and logs any other failure", () => {
    const busy = new StoreError("busy", "locked");
    const { clock, logged, steps } = setUp([busy, busy, new StoreError("disk_full", "no space"), true]);
    clock.advance(10_000);
    assert.deepEqual(steps, [2_000, 2_020, 2_040]);
    clock.advance(60_000);
    assert.deepEqual(steps.slice(3), [62_040, 62_060]);
    assert.deepEqual(logged, [
      {
        event: "daemon.task_crashed",
        task: "rollups",
        error: "StoreError",
        message: "no space",
        restart_delay_ms: 60_000,
      },
    ]);
  });
});
