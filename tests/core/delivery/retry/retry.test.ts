import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  BACKOFF_BASE_MS,
  BACKOFF_CAP_MS,
  backoffDelay,
  clampRetryAfter,
  exponentialDelay,
  firstTickDelay,
  remainingDelay,
  remainingRetryAfter,
  retryDelay,
  TIMER_CAP_MS,
} from "../../../../core/delivery/retry/backoff-delay.ts";
import { describeResult, isTooLarge, retryAfterOf } from "../../../../core/delivery/retry/cloud-result.ts";
import { growMessage, halveMessage } from "../../../../core/delivery/retry/message-size.ts";
import { parseRetryAfter, RETRY_AFTER_CAP_MS } from "../../../../core/delivery/retry/retry-after.ts";

const now = Date.UTC(1994, 10, 6, 8, 49, 0);

describe("parseRetryAfter()", () => {
  const rows: readonly [header: string | null, expected: number | null][] = [
    // Seconds.
    ["0", 0],
    ["5", 5_000],
    [" 120\t", 120_000],
    ["3600", 3_600_000],
    ["3601", RETRY_AFTER_CAP_MS],
    ["1000000000000", RETRY_AFTER_CAP_MS],
    ["9".repeat(400), RETRY_AFTER_CAP_MS],
    // The three forms of a date: all mean 37 s from now.
    ["Sun, 06 Nov 1994 08:49:37 GMT", 37_000],
    ["Sunday, 06-Nov-94 08:49:37 GMT", 37_000],
    ["Sun Nov  6 08:49:37 1994", 37_000],
    ["Sun Nov 06 08:49:37 1994", 37_000],
    ["sun, 06 nov 1994 08:49:37 gmt", 37_000],
    // A leap second rolls over.
    ["Sun, 06 Nov 1994 08:49:60 GMT", 60_000],
    // Past and far in the future.
    ["Sun, 06 Nov 1994 08:48:59 GMT", 0],
    ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["Mon, 06 Nov 2034 08:49:37 GMT", RETRY_AFTER_CAP_MS],
    ["Tue, 29 Feb 2000 00:00:00 GMT", RETRY_AFTER_CAP_MS],
    // Two digits of a year: 44 is 2044 (50 years ahead), 45 is 1945 (51 would be too many).
    ["Sunday, 06-Nov-44 08:49:37 GMT", RETRY_AFTER_CAP_MS],
    ["Sunday, 06-Nov-45 08:49:37 GMT", 0],
    ["Sunday, 06-Nov-00 08:49:37 GMT", RETRY_AFTER_CAP_MS],
    // Sent twice and joined: the longer one applies.
    ["5, 10", 10_000],
    ["10 ,5", 10_000],
    ["5, Sun, 06 Nov 1994 08:49:37 GMT", 37_000],
    ["Sun, 06 Nov 1994 08:49:37 GMT, 60", 60_000],
    // Neither form.
    [null, null],
    ["", null],
    ["-1", null],
    ["1.5", null],
    ["1e12", null],
    ["5 s", null],
    ["5,", null],
    ["5, soon", null],
    ["soon", null],
    ["Sun, 06 Nov 1994 08:49:37", null],
    ["Sun, 06 Nov 1994 08:49:37 CET", null],
    ["Sun, 06 Foo 1994 08:49:37 GMT", null],
    ["Sun, 00 Nov 1994 08:49:37 GMT", null],
    ["Sun, 31 Nov 1994 08:49:37 GMT", null],
    ["Tue, 29 Feb 1994 08:49:37 GMT", null],
    ["Sun, 06 Nov 1994 24:00:00 GMT", null],
    ["Sun, 06 Nov 1994 08:60:00 GMT", null],
    ["Sun, 06 Nov 1994 08:49:61 GMT", null],
    ["1994-11-06T08:49:37Z", null],
  ];
  for (const [header, expected] of rows) {
    it(`reads ${JSON.stringify(header)?.slice(0, 40)} as ${expected}`, () => {
      assert.equal(parseRetryAfter(header, now), expected);
    });
  }

  it("reads every month in each form of a date", () => {
    for (let month = 0; month < 12; month++) {
      const at = Date.UTC(2026, month, 15);
      const words = new Date(at).toUTCString();
      const [, , name] = words.split(" ");
      assert.equal(parseRetryAfter(words, at - 2_000), 2_000, words);
      assert.equal(parseRetryAfter(`Sunday, 15-${name}-26 00:00:00 GMT`, at - 2_000), 2_000, words);
      assert.equal(parseRetryAfter(`Sun ${name} 15 00:00:00 2026`, at - 2_000), 2_000, words);
    }
  });

  it("reads a two-digit year across the turn of a century", () => {
    const newYear = Date.UTC(2000, 0, 1);
    assert.equal(parseRetryAfter("Saturday, 01-Jan-00 00:00:00 GMT", newYear - 1_000), 1_000);
    assert.equal(parseRetryAfter("Friday, 31-Dec-99 23:59:59 GMT", newYear), 0);
  });

  // Planted: the cap taken out. Planted: `-?` before the digits.
  it("returns null or an integer from 0 to the cap for any header", () => {
    const numbers = fc.array(fc.constantFrom("0", "5", "99999", "-", ".", "e", " ", ","), {
      minLength: 1,
      maxLength: 4,
    });
    const dates = fc.array(
      fc.constantFrom("Sun", "06", "Nov", "1994", "08:49:37", "99:99:99", "GMT", ", ", " ", "7"),
      { maxLength: 9, size: "max" },
    );
    const whole = fc.array(
      fc.constantFrom(
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 2094 08:49:37 GMT",
        ", ",
        "99999",
      ),
      { maxLength: 5 },
    );
    const header = fc.oneof(numbers, dates, whole).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(header, fc.integer({ min: 0, max: 4e12 }), (text, at) => {
        const delayMs = parseRetryAfter(text, at);
        if (text.trim().startsWith("-")) assert.equal(delayMs, null);
        if (delayMs === null) return;
        assert.ok(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= RETRY_AFTER_CAP_MS, `${delayMs}`);
      }),
      { numRuns: 500 },
    );
  });
});

describe("backoffDelay()", () => {
  it("doubles from 1 s to its cap, before the jitter", () => {
    const windows = [1, 2, 3, 4, 9, 10, 11, 1_000, Number.MAX_SAFE_INTEGER].map((failures) =>
      exponentialDelay(failures, BACKOFF_BASE_MS, BACKOFF_CAP_MS),
    );
    assert.deepEqual(windows, [1e3, 2e3, 4e3, 8e3, 256e3, 300e3, 300e3, 300e3, 300e3]);
    assert.equal(exponentialDelay(0, BACKOFF_BASE_MS, BACKOFF_CAP_MS), 1_000);
  });

  it("returns the random share of the window (full jitter)", () => {
    assert.deepEqual(
      [0, 0.25, 0.5, 0.999].map((random) => backoffDelay(3, random)),
      [0, 1_000, 2_000, 3_996],
    );
  });

  it("returns the whole window if the random number is not a fraction", () => {
    assert.deepEqual(
      [-1, 2, Number.NaN].map((random) => backoffDelay(1, random)),
      [1_000, 1_000, 1_000],
    );
  });

  // Planted: no cap on the window. Planted: the exponent taken modulo 32.
  it("stays within the cap for any number of failures and any random number, and never shrinks the window", () => {
    const count = fc.oneof(fc.nat(100), fc.nat(Number.MAX_SAFE_INTEGER));
    fc.assert(
      fc.property(count, count, fc.double({ min: 0, max: 1 }), (some, more, random) => {
        const [delayMs, later] = [backoffDelay(some, random), backoffDelay(some + more, random)];
        assert.ok(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= BACKOFF_CAP_MS, `${delayMs}`);
        assert.ok(later >= delayMs, `${later} after ${delayMs}`);
      }),
      { numRuns: 300 },
    );
  });
});

describe("retryDelay()", () => {
  const rows: readonly [failures: number, random: number, retryAfterMs: number | null, expected: number][] = [
    [1, 0.5, null, 500],
    [1, 0.5, 0, 500],
    [1, 0.5, 5_000, 5_000],
    [9, 0.5, 5_000, 128_000],
    [1, 0.5, 7_200_000, 3_600_000],
    [1, 0.5, -5, 500],
    [1, 0.5, Number.NaN, 500],
  ];
  for (const [failures, random, retryAfterMs, expected] of rows) {
    it(`waits ${expected} ms after ${failures} failures, random ${random}, Retry-After ${retryAfterMs}`, () => {
      assert.equal(retryDelay(failures, random, retryAfterMs), expected);
    });
  }
});

describe("remainingDelay()", () => {
  it("returns the remaining time, 0 once it is past, and the cap if the clock was set back", () => {
    assert.equal(remainingDelay(1_000, 400, 5_000), 600);
    assert.equal(remainingDelay(1_000, 1_400, 5_000), 0);
    assert.equal(remainingDelay(86_400_000, 0, 5_000), 5_000);
  });
});

describe("remainingRetryAfter()", () => {
  it("returns the rest of the cloud's Retry-After, at most an hour", () => {
    assert.equal(remainingRetryAfter({ notBefore: null }, 1_000), 0);
    assert.equal(remainingRetryAfter({ notBefore: 1_500 }, 1_000), 500);
    assert.equal(remainingRetryAfter({ notBefore: 86_400_000 }, 1_000), RETRY_AFTER_CAP_MS);
  });
});

describe("firstTickDelay()", () => {
  const after = (nextTickAt: number | null, consecutiveFailures: number) =>
    firstTickDelay({ nextTickAt, consecutiveFailures }, 0.5, 1_000);
  it("returns the rest of a scheduled delay, or a backoff after failures, or 0", () => {
    assert.equal(after(31_000, 0), 30_000);
    assert.equal(after(500, 9), 0);
    assert.equal(after(null, 3), 2_000);
    assert.equal(after(null, 0), 0);
  });
});

describe("describeResult()", () => {
  it("returns the status with the problem code, or the transport failure", () => {
    assert.equal(describeResult({ kind: "http", status: 503, retryAfterMs: null }), "HTTP 503");
    const refused = { kind: "http", status: 422, retryAfterMs: null, code: "invalid_batch" } as const;
    assert.equal(describeResult(refused), "HTTP 422 invalid_batch");
    assert.equal(describeResult({ kind: "transport", reason: "dns_failure" }), "no answer: dns_failure");
  });
});

describe("isTooLarge()", () => {
  it("is true for 413 alone", () => {
    const http = (status: number) => isTooLarge({ kind: "http", status, retryAfterMs: null });
    assert.deepEqual([200, 400, 413, 414, 422, 500].map(http), [false, false, true, false, false, false]);
    assert.equal(isTooLarge({ kind: "transport", reason: "timeout" }), false);
  });
});

describe("halveMessage() and growMessage()", () => {
  it("reach one record in 8 steps, and 200 again in 40", () => {
    const halved = [200];
    while (halved.at(-1)! > 1) halved.push(halveMessage(halved.at(-1)!));
    assert.deepEqual(halved, [200, 100, 50, 25, 12, 6, 3, 1]);
    assert.equal(halveMessage(1), 1);
    let [limit, steps] = [1, 0];
    for (; limit < 200; steps++) limit = growMessage(limit, 200);
    assert.deepEqual([limit, steps, growMessage(1, 3)], [200, 40, 2]);
  });
});

describe("retryAfterOf()", () => {
  it("returns the header's value, and null without a response", () => {
    assert.equal(retryAfterOf({ kind: "http", status: 429, retryAfterMs: 7 }), 7);
    assert.equal(retryAfterOf({ kind: "transport", reason: "timeout" }), null);
    assert.equal(clampRetryAfter(null), 0);
  });
});

describe("the numbers of core/delivery/retry", () => {
  it("are the specification's", () => {
    assert.deepEqual(
      { BACKOFF_BASE_MS, BACKOFF_CAP_MS, RETRY_AFTER_CAP_MS, TIMER_CAP_MS },
      {
        BACKOFF_BASE_MS: 1_000,
        BACKOFF_CAP_MS: 300_000,
        RETRY_AFTER_CAP_MS: 3_600_000,
        TIMER_CAP_MS: 2_147_483_647,
      },
    );
  });
});
