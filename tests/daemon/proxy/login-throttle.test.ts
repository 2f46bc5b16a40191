import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createLoginThrottle } from "../../../daemon/proxy/login-throttle.ts";

describe("createLoginThrottle()", () => {
  it("allows five failures and doubles the wait from the fifth, up to five minutes", () => {
    let now = 0;
    const throttle = createLoginThrottle(() => now);
    const waits = Array.from({ length: 16 }, () => {
      const waitMs = throttle.waitMs("192.0.2.7");
      now += waitMs;
      assert.equal(throttle.waitMs("192.0.2.7"), 0);
      throttle.recordFailure("192.0.2.7");
      return waitMs / 1_000;
    });
    assert.deepEqual(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  });

  it("forgets failures after the right password, and after an hour", () => {
    let now = 0;
    const throttle = createLoginThrottle(() => now);
    const guess = (times: number) => {
      for (let n = 0; n < times; n += 1) throttle.recordFailure("192.0.2.7");
    };
    guess(5);
    assert.equal(throttle.waitMs("192.0.2.7"), 1_000);
    throttle.recordSuccess("192.0.2.7");
    assert.equal(throttle.waitMs("192.0.2.7"), 0);
    guess(6);
    now += 3_600_000;
    guess(1);
    assert.equal(throttle.waitMs("192.0.2.7"), 0);
  });

  it("throttles a whole /64 together, and no other address", () => {
    const throttle = createLoginThrottle(() => 0);
    for (let n = 0; n < 5; n += 1) {
      throttle.recordFailure("192.0.2.7");
      throttle.recordFailure(`2001:db8:1:2::${n.toString(16)}`);
      throttle.recordFailure(`fe80::${n.toString(16)}%eth0`);
    }
    assert.equal(throttle.waitMs("192.0.2.8"), 0);
    assert.equal(throttle.waitMs("::ffff:192.0.2.7"), 1_000);
    assert.equal(throttle.waitMs("2001:db8:1:2:9:9:9:9"), 1_000);
    assert.equal(throttle.waitMs("2001:db8:1:3::1"), 0);
    assert.equal(throttle.waitMs("fe80::77%eth0"), 1_000);
  });

  // Planted bug that this found: without the limit, the first of 5,000 addresses is still throttled.
  it("remembers the 1,024 addresses that failed last", () => {
    const throttle = createLoginThrottle(() => 0);
    const address = (n: number) => `10.0.${n >> 8}.${n & 255}`;
    for (let n = 0; n < 5_000; n += 1)
      for (let guess = 0; guess < 5; guess += 1) throttle.recordFailure(address(n));
    const slowed = Array.from({ length: 5_000 }, (_, n) => throttle.waitMs(address(n)) > 0);
    assert.equal(slowed.filter(Boolean).length, 1_024);
    assert.equal(slowed.indexOf(true), 5_000 - 1_024);
  });

  it("allows an address at most 24 attempts in an hour, at any pace", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000), { minLength: 300, maxLength: 600 }), (gaps) => {
        let now = 0;
        const throttle = createLoginThrottle(() => now);
        let lookedAt = 0;
        for (const gap of gaps) {
          now += gap;
          if (now >= 3_600_000) break;
          if (throttle.waitMs("192.0.2.7") > 0) continue;
          lookedAt += 1;
          throttle.recordFailure("192.0.2.7");
        }
        assert.ok(lookedAt <= 24, `${lookedAt}`);
      }),
    );
  });
});
