import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { CLOUD_CONFIG_DEFAULTS } from "../../../cloud/config.ts";
import { createMemoryStates, type LimitStates } from "../../../cloud/limits/limit-states.ts";
import { createRateLimiter } from "../../../cloud/limits/rate-limiter.ts";

describe("CLOUD_CONFIG_DEFAULTS", () => {
  it("has the documented limits, in requests per minute", async () => {
    const { perKey, perUser, signInPerAddress, pairingPerAddress } = CLOUD_CONFIG_DEFAULTS.rateLimits;
    assert.deepEqual([perKey, perUser, signInPerAddress, pairingPerAddress], [600, 120, 10, 10]);
  });
});

describe("createRateLimiter()", () => {
  it("allows a minute's requests at once, then evenly spaced ones, and returns the seconds to wait", async () => {
    const limiter = createRateLimiter(4);
    assert.deepEqual(await Promise.all([0, 0, 0, 0, 0].map((now) => limiter.take("a", now))), [
      null,
      null,
      null,
      null,
      15,
    ]);
    assert.equal(await limiter.take("a", 14_000), 1);
    assert.equal(await limiter.take("a", 15_000), null);
    assert.equal(await limiter.take("a", 15_000), 15);
    assert.equal(await limiter.take("b", 15_000), null);
  });

  it("allows at most twice the rate in any minute, and never refuses an even pace", async () => {
    // Planted: counting refused requests too, which starves clients that keep asking; found within 10 runs.
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 60 }),
        async (perMinute, gaps) => {
          const limiter = createRateLimiter(perMinute);
          const passed: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            const wait = await limiter.take("a", now);
            if (wait === null) passed.push(now);
            else
              assert.equal(
                await limiter.take("a", (now += wait * 1_000)),
                null,
                "the wait that it said is enough",
              );
          }
          for (const from of passed) {
            const within = passed.filter((at) => at >= from && at < from + 60_000);
            assert.ok(within.length <= 2 * perMinute);
          }
        },
      ),
    );
  });

  it("does not lock a client out when the clock is set back", async () => {
    const limiter = createRateLimiter(2);
    for (let turn = 0; turn < 2; turn += 1) await limiter.take("a", 1e12);
    assert.equal(await limiter.take("a", 1000), 30);
    assert.equal(await limiter.take("a", 31_000), null);
    assert.equal(await limiter.take("a", 31_000), 30);
  });
});

describe("createRateLimiter() with states that processes share", () => {
  it("allows at least the rate, and once at most a tenth of a minute's requests more per process", async () => {
    // Planted: not reporting the last request of each tenth; found within 20 runs.
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.tuple(fc.nat(2_000), fc.nat(3)), { minLength: 1, maxLength: 300 }),
        async (perMinute, processes, requests) => {
          const shared = createMemoryStates();
          const limiters = Array.from({ length: processes }, () => createRateLimiter(perMinute, shared));
          const alone = createRateLimiter(perMinute);
          let now = 0;
          let allowed = 0;
          let allowedAlone = 0;
          for (const [gapMs, process] of requests) {
            now += gapMs;
            if ((await limiters[process % processes]?.take("a", now)) === null) allowed += 1;
            if ((await alone.take("a", now)) === null) allowedAlone += 1;
          }
          const ahead = processes * Math.max(1, Math.floor(perMinute / 10));
          const most = perMinute + (now * perMinute) / 60_000 + ahead;
          assert.ok(allowed <= most, `${allowed} of at most ${most}`);
          assert.ok(allowed >= allowedAlone - 1, `${allowed} of at least ${allowedAlone - 1}`);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("asks the shared states once for a tenth of a minute's requests", async () => {
    const memory = createMemoryStates();
    let changes = 0;
    const counting: LimitStates = {
      change: (clients, now, decide) => {
        changes += 1;
        return memory.change(clients, now, decide);
      },
    };
    const limiter = createRateLimiter(600, counting);
    for (let at = 0; at < 600; at += 1) assert.equal(await limiter.take("a", 0), null);
    assert.equal(changes, 10);
    assert.equal(await limiter.take("a", 0), 1);
    assert.equal(changes, 10);
  });
});
