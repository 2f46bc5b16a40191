import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { findLimitAnswer } from "../../../../core/metering/limits/answer-limits.ts";
import { readCodexEvent } from "../../../../core/metering/limits/codex-limits.ts";
import { readErrorLimits } from "../../../../core/metering/limits/error-limits.ts";
import type { StatedLimit } from "../../../../core/metering/limits/stated-limit.ts";
import { assertSound, DAY, damaged, HOUR, limit, MINUTE, now } from "./limits.rig.ts";

const soon = now + 2 * HOUR;
const iso = (at: number) => new Date(at).toISOString();
const week = (members: Partial<StatedLimit>) => limit({ window: "7d", windowMs: 7 * DAY, ...members });
const credits = (members: Partial<StatedLimit>) =>
  limit({ window: "credits", windowMs: null, unit: "credits", ...members });

describe("readCodexEvent()", () => {
  const table: readonly [text: string, event: unknown, expected: readonly StatedLimit[]][] = [
    [
      "windows and credits",
      {
        type: "codex.rate_limits",
        plan_type: "plus",
        rate_limits: {
          primary: { used_percent: 12, window_minutes: 300, reset_at: soon / 1_000 },
          secondary: { used_percent: 40, window_minutes: 10_080, reset_after_seconds: 60 },
        },
        credits: { has_credits: true, unlimited: false, balance: "3.5" },
      },
      [
        limit({ usedPpm: 120_000, resetAt: soon }),
        week({ usedPpm: 400_000, resetAt: now + MINUTE }),
        credits({ remaining: 3.5, status: "allowed" }),
      ],
    ],
    [
      "the windows of one model",
      {
        limit_name: "codex",
        metered_limit_name: "Spark",
        rate_limits: { primary: { used_percent: 1, window_minutes: 300 }, secondary: null },
      },
      [limit({ scope: "spark", usedPpm: 10_000 })],
    ],
    ["nothing in an event without windows", { rate_limits: null }, []],
    ["nothing in what is no event", null, []],
  ];
  for (const [text, event, expected] of table)
    it(`reads ${text}`, () => assert.deepEqual(readCodexEvent(event, now), expected));
});

describe("readErrorLimits()", () => {
  const google = (...details: unknown[]) => ({ code: 429, message: "…", details });
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" };
  const violated = (quotaId: string, more: object = {}) => ({
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    violations: [{ quotaId, ...more }],
  });
  const table: readonly [text: string, error: unknown, expected: readonly StatedLimit[]][] = [
    [
      "the end of a Codex window",
      { type: "usage_limit_reached", plan_type: "plus", resets_at: soon / 1_000 },
      [limit({ window: "plan", windowMs: null, resetAt: soon, status: "exceeded" })],
    ],
    [
      "its older form",
      { type: "usage_limit_reached", resets_in_seconds: 7_200 },
      [limit({ window: "plan", windowMs: null, resetAt: soon, status: "exceeded" })],
    ],
    [
      "Gemini's quota per day, whose delay is no reset",
      google(
        violated("GenerateRequestsPerDayPerProjectPerModel-FreeTier", {
          quotaDimensions: { location: "global", model: "gemini-2.5-pro" },
          quotaValue: "50",
        }),
        retry,
      ),
      [
        limit({
          window: "1d",
          windowMs: DAY,
          scope: "gemini-2.5-pro",
          unit: "requests",
          limit: 50,
          status: "exceeded",
        }),
      ],
    ],
    [
      "Gemini's quotas per minute",
      google(
        violated("GenerateContentInputTokensPerModelPerMinute-FreeTier"),
        violated("GenerateRequestsPerMinutePerProject"),
        violated("TokensPerMinute"),
        violated("SomethingElse"),
        { violations: "many" },
        retry,
      ),
      [
        limit({
          window: "1m",
          windowMs: MINUTE,
          unit: "input_tokens",
          resetAt: now + 34_070,
          status: "exceeded",
        }),
        limit({
          window: "1m",
          windowMs: MINUTE,
          unit: "requests",
          resetAt: now + 34_070,
          status: "exceeded",
        }),
        limit({ window: "1m", windowMs: MINUTE, unit: "tokens", resetAt: now + 34_070, status: "exceeded" }),
      ],
    ],
    [
      "Code Assist's exhausted quota",
      google({ reason: "QUOTA_EXHAUSTED" }, retry),
      [limit({ window: "plan", windowMs: null, resetAt: now + 34_070, status: "exceeded" })],
    ],
    [
      "a rate limit without a delay",
      google({ reason: "RATE_LIMIT_EXCEEDED" }),
      [limit({ window: "rate", windowMs: null, status: "exceeded" })],
    ],
    [
      "credits that are used up",
      google({ reason: "INSUFFICIENT_G1_CREDITS_BALANCE" }),
      [credits({ remaining: 0, status: "exceeded" })],
    ],
    ["nothing in a lack of capacity", google({ reason: "MODEL_CAPACITY_EXHAUSTED" }, retry), []],
    ["nothing in other errors", { type: "rate_limit_error", message: "usage_limit_reached" }, []],
    ["nothing in a text", "usage_limit_reached", []],
  ];
  for (const [text, error, expected] of table)
    it(`reads ${text}`, () => assert.deepEqual(readErrorLimits(error, now), expected));
});

describe("findLimitAnswer()", () => {
  const readUsage = findLimitAnswer("anthropic", "GET", "/api/oauth/usage")!;
  const readWham = findLimitAnswer("codex", "GET", "/backend-api/wham/usage")!;
  const readQuota = findLimitAnswer("code-assist", "POST", "/v1internal:retrieveUserQuota")!;
  const readKey = findLimitAnswer("openrouter", "GET", "/api/v1/key")!;

  it("finds no reader for other paths, methods and providers", () => {
    assert.equal(findLimitAnswer("anthropic", "GET", "/api/oauth/profile"), null);
    assert.equal(findLimitAnswer("anthropic", "POST", "/api/oauth/usage"), null);
    assert.equal(findLimitAnswer("openai", "GET", "/api/oauth/usage"), null);
  });

  it("reads Claude's usage, whose share is in percent", () => {
    const answer = {
      five_hour: { utilization: 6.5, resets_at: "2026-08-31T11:20:00.172141+00:00" },
      seven_day: { utilization: 100, resets_at: null },
      seven_day_opus: { utilization: 33, resets_at: iso(soon) },
      seven_day_sonnet: null,
      extra_usage: { is_enabled: true, utilization: 20 },
      limits: [
        { kind: "session", percent: 6.5 },
        {
          kind: "weekly_scoped",
          percent: 57,
          resets_at: iso(soon),
          scope: { model: { id: null, display_name: "Fable" } },
        },
        { kind: "weekly_scoped", percent: 5, scope: { model: { id: "m-1" } } },
        { kind: "weekly_scoped", percent: null, scope: { model: { display_name: "Ghost" } } },
        { kind: "weekly_scoped", percent: 3, scope: null },
      ],
    };
    assert.deepEqual(readUsage(answer, now), [
      limit({ usedPpm: 65_000, resetAt: now + 2 * HOUR + 172 }),
      week({ usedPpm: 1_000_000, status: "exceeded" }),
      week({ scope: "opus", usedPpm: 330_000, resetAt: soon }),
      week({ scope: "fable", usedPpm: 570_000, resetAt: soon }),
      week({ scope: "m-1", usedPpm: 50_000 }),
    ]);
  });

  it("reads Codex's usage, whose windows are in seconds", () => {
    const window = (used_percent: number, limit_window_seconds: number) => ({
      used_percent,
      limit_window_seconds,
      reset_at: soon / 1_000,
    });
    const answer = {
      plan_type: "plus",
      rate_limit: { allowed: true, primary_window: window(6, 18_000), secondary_window: window(24, 604_800) },
      additional_rate_limits: [
        { limit_name: "Spark", rate_limit: { primary_window: window(50, 18_000) } },
        { rate_limit: { primary_window: window(70, 18_000) } },
      ],
      credits: { has_credits: true, unlimited: false, balance: 5.39 },
    };
    assert.deepEqual(readWham(answer, now), [
      limit({ usedPpm: 60_000, resetAt: soon }),
      week({ usedPpm: 240_000, resetAt: soon }),
      limit({ scope: "spark", usedPpm: 500_000, resetAt: soon }),
      credits({ remaining: 5.39, status: "allowed" }),
    ]);
    assert.deepEqual(readWham({ rate_limit: null }, now), []);
  });

  it("reads the quota of Gemini Code Assist", () => {
    const answer = {
      buckets: [
        {
          remainingFraction: 0.25,
          remainingAmount: "250",
          resetTime: iso(soon),
          tokenType: "REQUESTS",
          modelId: "gemini-2.5-pro",
        },
        { remainingFraction: 0, tokenType: "TOKENS" },
        { remainingFraction: 1.5 },
        { remainingAmount: "9" },
      ],
    };
    const quota = (members: Partial<StatedLimit>) => limit({ window: "quota", windowMs: null, ...members });
    assert.deepEqual(readQuota(answer, now), [
      quota({ scope: "gemini-2.5-pro", unit: "requests", usedPpm: 750_000, remaining: 250, resetAt: soon }),
      quota({ unit: "tokens", usedPpm: 1_000_000, status: "exceeded" }),
    ]);
    assert.deepEqual(readQuota({}, now), []);
  });

  it("reads the limit of an OpenRouter key by its period in UTC", () => {
    const table: readonly [limitReset: unknown, expected: Partial<StatedLimit> | null][] = [
      ["daily", { window: "1d", windowMs: DAY, resetAt: Date.UTC(2026, 8, 1) }],
      // 31 August 2026 is a Monday.
      ["weekly", { window: "7d", windowMs: 7 * DAY, resetAt: Date.UTC(2026, 8, 7) }],
      ["monthly", { window: "1mo", windowMs: 31 * DAY, resetAt: Date.UTC(2026, 8, 1) }],
      [null, { window: "total", windowMs: null }],
      [undefined, { window: "total", windowMs: null }],
      ["hourly", null],
    ];
    for (const [limit_reset, expected] of table) {
      const data = { limit: 10, limit_remaining: 2.5, limit_reset };
      assert.deepEqual(
        readKey({ data }, now),
        expected === null
          ? []
          : [limit({ unit: "micro_usd", usedPpm: 750_000, limit: 10e6, remaining: 2.5e6, ...expected })],
      );
    }
    assert.deepEqual(
      readKey({ data: { limit: 10, limit_remaining: 0, limit_reset: null } }, now)[0]?.status,
      "exceeded",
    );
    const sunday = Date.UTC(2026, 8, 6, 23);
    assert.equal(
      readKey({ data: { limit: 1, limit_reset: "weekly" } }, sunday)[0]?.resetAt,
      Date.UTC(2026, 8, 7),
    );
    assert.deepEqual(readKey({ data: { limit: null, limit_remaining: null } }, now), []);
    assert.deepEqual(readKey({ error: {} }, now), []);
  });

  // Found: a share of any size, when `ppmOfFraction()` had no bound.
  it("states sound limits whatever a body has", () => {
    const window = {
      used_percent: 1,
      window_minutes: 300,
      limit_window_seconds: 60,
      reset_at: 1,
      reset_after_seconds: 1,
    };
    const windows = { primary: window, secondary: window, primary_window: window, secondary_window: window };
    const scope = { model: { id: "m", display_name: "n" } };
    const sample = {
      five_hour: { utilization: 5, resets_at: iso(soon) },
      constructor_day: { utilization: 5 },
      limits: [{ kind: "weekly_scoped", percent: 5, resets_at: iso(soon), scope }],
      rate_limit: windows,
      rate_limits: windows,
      additional_rate_limits: [{ limit_name: "n", rate_limit: windows }],
      limit_name: "n",
      credits: { has_credits: true, unlimited: false, balance: 5 },
      buckets: [
        {
          remainingFraction: 0.5,
          remainingAmount: "5",
          resetTime: iso(soon),
          tokenType: "TOKENS",
          modelId: "m",
        },
      ],
      data: { limit: 5, limit_remaining: 2, limit_reset: "daily" },
      type: "usage_limit_reached",
      resets_at: 5,
      details: [
        {
          retryDelay: "5s",
          reason: "QUOTA_EXHAUSTED",
          violations: [{ quotaId: "RequestsPerDay", quotaValue: "5" }],
        },
      ],
    };
    fc.assert(
      fc.property(damaged(sample), (value) => {
        for (const read of [readUsage, readWham, readQuota, readKey, readErrorLimits, readCodexEvent])
          assertSound(read(value, now));
        assertSound(readErrorLimits({ ...Object(value), type: null }, now));
      }),
      { numRuns: 1_000 },
    );
  });
});
