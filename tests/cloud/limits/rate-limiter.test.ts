import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createRateLimiter } from "../../../cloud/limits/rate-limiter.ts";
import { CLOUD_CONFIG_DEFAULTS } from "../../../cloud/ports.ts";

describe("CLOUD_CONFIG_DEFAULTS", () => {
  it("has the documented limits, in requests per minute", () => {
    const { perKey, perUser, signInPerAddress, pairingPerAddress } = CLOUD_CONFIG_DEFAULTS.rateLimits;
    assert.deepEqual([perKey, perUser, signInPerAddress, pairingPerAddress], [600, 120, 10, 10]);
  });
});

describe("createRateLimiter()", () => {
  it("allows a minute's requests at once, then evenly spaced ones, and returns the seconds to wait", () => {
    const limiter = createRateLimiter(4);
    assert.deepEqual(
      [0, 0, 0, 0, 0].map((now) => limiter.take("a", now)),
      [null, null, null, null, 15],
    );
    assert.equal(limiter.take("a", 14_000), 1);
    assert.equal(limiter.take("a", 15_000), null);
    assert.equal(limiter.take("a", 15_000), 15);
    assert.equal(limiter.take("b", 15_000), null);
  });

  it("allows at most twice the rate in any minute, and never refuses an even pace", () => {
    // Planted: counting refused requests too, which starves clients that keep asking; found within 10 runs.
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 60 }),
        (perMinute, gaps) => {
          const limiter = createRateLimiter(perMinute);
          const passed: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            const wait = limiter.take("a", now);
            if (wait === null) passed.push(now);
            else
              assert.equal(limiter.take("a", (now += wait * 1_000)), null, "the wait that it said is enough");
          }
          for (const from of passed) {
            const within = passed.filter((at) => at >= from && at < from + 60_000);
            assert.ok(within.length <= 2 * perMinute);
          }
        },
      ),
    );
  });

  it("does not lock a client out when the clock is set back", () => {
    const limiter = createRateLimiter(2);
    for (let turn = 0; turn < 2; turn += 1) limiter.take("a", 1e12);
    assert.equal(limiter.take("a", 1000), 30);
  });
});
