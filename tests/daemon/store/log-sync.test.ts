import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createLogSync, LOG_SYNC_DELAY_MS } from "../../../daemon/store/log-sync.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("createLogSync()", () => {
  // Planted: a timer that restarts with each write; a steady stream is then never synced.
  it("starts a sync within a second of every write, however long the syncs take", async () => {
    const step = fc.record({ afterMs: fc.nat(700), writes: fc.boolean(), ends: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const clock = createManualClock(0);
        let waitsSinceMs: number | null = null;
        let freeSinceMs: number | null = 0;
        let end: (() => void) | null = null;
        const sync = createLogSync(
          clock,
          () => {
            assert.equal(end, null, "two syncs at once");
            assert.notEqual(waitsSinceMs, null, "nothing to sync");
            waitsSinceMs = freeSinceMs = null;
            return new Promise((resolve) => {
              end = resolve;
            });
          },
          assert.ifError,
        );
        for (const { afterMs, writes, ends } of steps) {
          clock.advance(afterMs);
          await turn();
          if (waitsSinceMs !== null && freeSinceMs !== null) {
            const lateMs = clock.now() - Math.max(waitsSinceMs, freeSinceMs);
            assert.ok(lateMs < LOG_SYNC_DELAY_MS, `waits for ${lateMs} ms`);
          }
          if (writes) {
            waitsSinceMs ??= clock.now();
            sync.written();
          }
          if (ends && end !== null) {
            (end as () => void)();
            [end, freeSinceMs] = [null, clock.now()];
            await turn();
          }
        }
      }),
    );
  });

  it("retries a failed sync, and reports the first of several failures", async () => {
    const clock = createManualClock(0);
    let refuses = true;
    let tries = 0;
    const failures: unknown[] = [];
    const sync = createLogSync(
      clock,
      async () => {
        tries += 1;
        if (refuses) throw new Error("EIO");
      },
      (error) => failures.push(error),
    );
    const seconds = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        clock.advance(LOG_SYNC_DELAY_MS);
        await turn();
      }
    };
    sync.written();
    await seconds(3);
    assert.deepEqual([tries, failures.length], [3, 1]);
    refuses = false;
    await seconds(3);
    assert.deepEqual([tries, failures.length], [4, 1]);
    refuses = true;
    sync.written();
    await seconds(2);
    assert.deepEqual([tries, failures.length], [6, 2]);
    sync.stop();
    await seconds(3);
    assert.equal(tries, 6);
  });
});
