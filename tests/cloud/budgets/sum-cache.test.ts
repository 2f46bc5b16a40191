import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createSumCache, SUM_CACHE_MS } from "../../../cloud/budgets/sum-cache.ts";

describe("createSumCache()", () => {
  it("reads a sum again after ten seconds, and each key for itself", async () => {
    const clock = createManualClock(Date.UTC(2026, 10, 21));
    const cache = createSumCache(clock);
    let loads = 0;
    const read = (key: string) =>
      cache.read(key, async () => {
        loads += 1;
        return { byMachine: new Map([["m", BigInt(loads)]]), calls: loads, unpricedCalls: 0 };
      });
    const [first, again, other] = [await read("a"), await read("a"), await read("b")];
    assert.deepEqual([first.calls, again.calls, other.calls], [1, 1, 2]);
    clock.advance(SUM_CACHE_MS - 1);
    assert.equal((await read("a")).calls, 1);
    clock.advance(1);
    assert.deepEqual([(await read("a")).calls, (await read("b")).calls], [3, 4]);
    // A clock that was set back does not keep a sum for longer.
    clock.jump(Date.UTC(2026, 9, 1));
    assert.equal((await read("a")).calls, 5);
  });

  it("does not keep a reading that failed", async () => {
    const cache = createSumCache(createManualClock(0));
    await assert.rejects(
      cache.read("a", () => Promise.reject(new Error("down"))),
      /down/,
    );
    const sums = { byMachine: new Map(), calls: 7, unpricedCalls: 0 };
    assert.equal((await cache.read("a", async () => sums)).calls, 7);
  });
});
