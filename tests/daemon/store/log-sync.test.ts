import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createLogSync, LOG_SYNC_DELAY_MS } from "../../../daemon/store/log-sync.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("createLogSync()", () => {
  // Planted: a timer that restarts with each write; a steady stream is then never synced.
  it("starts a sync before any record is a second old, or as soon as the last sync ends", async () => {
    const step = fc.record({
      afterMs: fc.nat(700),
      ageMs: fc.option(fc.oneof(fc.nat(5_000), fc.integer({ min: -3_600_000, max: 0 }))),
      ends: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const clock = createManualClock(0);
        let oldestMs: number | null = null;
        let freeSinceMs: number | null = 0;
        let end: (() => void) | null = null;
        const sync = createLogSync({
          clock,
          monotonicMs: clock.now,
          sync() {
            assert.equal(end, null, "two syncs at once");
            assert.notEqual(oldestMs, null, "nothing to sync");
            oldestMs = freeSinceMs = null;
            return new Promise((resolve) => {
              end = resolve;
            });
          },
          failed: assert.ifError,
        });
        const requireInTime = () => {
          const ageMs = oldestMs === null || freeSinceMs === null ? 0 : clock.now() - oldestMs;
          assert.ok(ageMs < LOG_SYNC_DELAY_MS, `a record waits at the age of ${ageMs} ms`);
        };
        for (const { afterMs, ageMs, ends } of steps) {
          clock.advance(afterMs);
          await turn();
          requireInTime();
          if (ageMs !== null) {
            // A call that ends in the future, by a clock that was set back, counts from its commit.
            const endedMs = clock.now() - Math.max(ageMs, 0);
            oldestMs = Math.min(oldestMs ?? endedMs, endedMs);
            sync.written(ageMs);
            requireInTime();
          }
          if (ends && end !== null) {
            (end as () => void)();
            [end, freeSinceMs] = [null, clock.now()];
            await turn();
            requireInTime();
          }
        }
      }),
    );
  });

  it("syncs at the commit if the timer is late, as on a busy event loop", () => {
    const clock = createManualClock(0);
    let [nowMs, syncs] = [0, 0];
    const sync = createLogSync({
      clock,
      monotonicMs: () => nowMs,
      async sync() {
        syncs += 1;
      },
      failed: assert.ifError,
    });
    sync.written(0);
    nowMs = LOG_SYNC_DELAY_MS - 1;
    sync.written(0);
    assert.equal(syncs, 0);
    nowMs = LOG_SYNC_DELAY_MS;
    sync.written(0);
    assert.equal(syncs, 1);
    assert.equal(clock.nextTimerMs(), null);
  });

  it("retries a failed sync, and reports the first of several failures", async () => {
    const clock = createManualClock(0);
    let refuses = true;
    let tries = 0;
    const failures: unknown[] = [];
    const sync = createLogSync({
      clock,
      monotonicMs: clock.now,
      async sync() {
        tries += 1;
        if (refuses) throw new Error("EIO");
      },
      failed: (error) => failures.push(error),
    });
    const seconds = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        clock.advance(LOG_SYNC_DELAY_MS);
        await turn();
      }
    };
    sync.written(0);
    await seconds(3);
    assert.deepEqual([tries, failures.length], [3, 1]);
    refuses = false;
    await seconds(3);
    assert.deepEqual([tries, failures.length], [4, 1]);
    refuses = true;
    sync.written(0);
    await seconds(2);
    assert.deepEqual([tries, failures.length], [6, 2]);
    sync.stop();
    await seconds(3);
    assert.equal(tries, 6);
  });
});
