import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  compareLimits,
  isLimitListed,
  toLimitView,
  toPercent,
} from "../../../../core/metering/limits/limit-view.ts";
import type { LimitReading } from "../../../../core/metering/limits/stated-limit.ts";
import { DAY_MS, HOUR_MS } from "../../../../core/values/time.ts";

const now = Date.UTC(2026, 10, 21, 12);

const reading = (change: Partial<LimitReading> = {}): LimitReading => ({
  provider: "anthropic",
  account: "a1",
  window: "5h",
  scope: null,
  unit: "share",
  windowMs: 5 * HOUR_MS,
  usedPpm: 625_000,
  limit: null,
  remaining: null,
  resetAt: now + HOUR_MS,
  status: "allowed",
  seenAt: now,
  ...change,
});

describe("toPercent()", () => {
  it("keeps two decimals, and null", () => {
    assert.deepEqual([toPercent(123_456), toPercent(1_500_000), toPercent(null)], [12.35, 150, null]);
  });
});

describe("isLimitListed()", () => {
  for (const [name, change, isListed] of [
    ["a window before its reset", {}, true],
    ["a window that reset a day ago", { resetAt: now - DAY_MS }, true],
    ["a window that reset two days ago", { resetAt: now - 2 * DAY_MS }, false],
    ["a rate limit that has refilled", { window: "rate", windowMs: null, resetAt: now }, false],
    ["a window without a reset that was seen today", { resetAt: null, seenAt: now - HOUR_MS }, true],
    ["a window without a reset that was seen yesterday", { resetAt: null, seenAt: now - DAY_MS }, false],
    [
      "a rate limit without a reset that was seen five minutes ago",
      { window: "1m", windowMs: 60_000, resetAt: null, seenAt: now - 300_000 },
      false,
    ],
  ] as const)
    it(`${isListed ? "keeps" : "leaves out"} ${name}`, () => {
      assert.equal(isLimitListed(reading(change), now), isListed);
    });
});

describe("compareLimits()", () => {
  it("sorts by provider, account, length, window, scope and unit", () => {
    const sorted = [
      reading({ account: null }),
      reading(),
      reading({ unit: "tokens" }),
      reading({ scope: "opus" }),
      reading({ window: "6h" }),
      reading({ windowMs: 7 * DAY_MS }),
      reading({ windowMs: null }),
      reading({ account: "a2" }),
      reading({ provider: "openai", account: null }),
    ];
    for (const [at, one] of sorted.entries())
      for (const [otherAt, other] of sorted.entries())
        assert.equal(Math.sign(compareLimits(one, other)), Math.sign(at - otherAt), `${at}, ${otherAt}`);
  });
});

describe("toLimitView()", () => {
  it("has no forecast without a history", () => {
    assert.deepEqual(toLimitView(reading(), [], now), {
      provider: "anthropic",
      account: "a1",
      window: "5h",
      scope: null,
      unit: "share",
      used_percent: 62.5,
      limit: null,
      remaining: null,
      resets_at: "2026-11-21T13:00:00.000Z",
      status: "allowed",
      level: "ok",
      seen_at: "2026-11-21T12:00:00.000Z",
      is_over: false,
      elapsed_percent: 80,
      burn_percent_per_hour: null,
      full: "unknown",
      full_at: null,
    });
  });

  it("forecasts from the history when the window is full", () => {
    const points = [
      { usedPpm: 125_000, resetAt: now + HOUR_MS, seenAt: now - HOUR_MS },
      { usedPpm: 625_000, resetAt: now + HOUR_MS, seenAt: now },
    ];
    const { burn_percent_per_hour, full, full_at } = toLimitView(reading(), points, now);
    assert.deepEqual([burn_percent_per_hour, full, full_at], [50, "at", "2026-11-21T12:45:00.000Z"]);
  });

  it("shows no use of a window that has reset since", () => {
    const { is_over, used_percent, remaining, status, level } = toLimitView(
      reading({ resetAt: now, remaining: 3, usedPpm: 990_000, status: "exceeded" }),
      [],
      now,
    );
    assert.deepEqual([is_over, used_percent, remaining, status, level], [true, null, null, null, "ok"]);
  });
});
