import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { HeaderList } from "../../../../core/metering/exchange/head.ts";
import {
  pickLimitHeaders,
  readHeaderLimits,
  statesOnlyRates,
} from "../../../../core/metering/limits/header-limits.ts";
import type { StatedLimit } from "../../../../core/metering/limits/stated-limit.ts";
import { assertSound, DAY, HOUR, hostileValue, limit, MINUTE, now, seconds } from "./limits.rig.ts";

type Headers = Readonly<Record<string, string>>;

function readList(headers: HeaderList, model: string | null = null): readonly StatedLimit[] {
  const picked = pickLimitHeaders(headers);
  return picked === null ? [] : readHeaderLimits(picked, { now, model });
}

const read = (headers: Headers, model: string | null = null) => readList(Object.entries(headers), model);

const soon = now + 2 * HOUR;
const later = now + 5 * DAY;
const unified = (members: Headers): Headers =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [`anthropic-ratelimit-unified-${name}`, value]),
  );
const week = (members: Partial<StatedLimit>) => limit({ window: "7d", windowMs: 7 * DAY, ...members });

const table: readonly [text: string, headers: Headers, expected: readonly StatedLimit[]][] = [
  ["no headers of limits", { "content-type": "text/plain", "x-request-id": "r", age: "1" }, []],
  [
    "Claude's windows, by their names",
    unified({
      status: "allowed_warning",
      "representative-claim": "five_hour",
      reset: seconds(soon),
      "5h-status": "allowed_warning",
      "5h-utilization": "0.91",
      "5h-reset": seconds(soon),
      "5h-surpassed-threshold": "0.9",
      "7d-status": "allowed",
      "7d-utilization": "0.42",
      "7d-reset": seconds(later),
      "fallback-percentage": "0.5",
      "overage-status": "rejected",
      "overage-disabled-reason": "org_level_disabled",
    }),
    [
      limit({ usedPpm: 910_000, resetAt: soon, status: "warning" }),
      week({ usedPpm: 420_000, resetAt: later, status: "allowed" }),
    ],
  ],
  [
    "Claude's weekly windows of models",
    unified({
      "7d_opus-utilization": "1.12",
      "7d_oi-status": "rejected",
      "7d_oi-utilization": "1",
      "7d_sonnet-reset": seconds(later),
    }),
    [
      week({ scope: "opus", usedPpm: 1_120_000 }),
      week({ scope: "overage_included", usedPpm: 1_000_000, status: "exceeded" }),
      week({ scope: "sonnet", resetAt: later }),
    ],
  ],
  [
    "the deciding window alone",
    unified({ status: "rejected", "representative-claim": "seven_day_opus", reset: seconds(later) }),
    [week({ scope: "opus", resetAt: later, status: "exceeded" })],
  ],
  ["a deciding window without facts", unified({ "representative-claim": "five_hour" }), []],
  [
    "paid overage",
    unified({
      "overage-status": "allowed",
      "overage-utilization": "0.2",
      "overage-reset": seconds(later),
      "overage-in-use": "true",
    }),
    [limit({ window: "overage", windowMs: null, usedPpm: 200_000, resetAt: later, status: "allowed" })],
  ],
  [
    "overage that is used up",
    unified({ "overage-status": "rejected", "overage-disabled-reason": "out_of_credits" }),
    [limit({ window: "overage", windowMs: null, status: "exceeded" })],
  ],
  [
    "overage in use",
    unified({ "overage-status": "allowed", "overage-in-use": "true" }),
    [limit({ window: "overage", windowMs: null, status: "allowed" })],
  ],
  [
    "malformed values of Claude",
    unified({
      "5h-utilization": "62",
      "5h-status": "fine",
      "5h-reset": "tomorrow",
      "7d-utilization": "0.5",
      "7d-reset": "12",
      "fortnight-utilization": "0.4",
      "0d-utilization": "0.4",
    }),
    [week({ usedPpm: 500_000 })],
  ],
  [
    "Codex's windows by their length, whatever their place",
    {
      "X-Codex-Primary-Used-Percent": "40",
      "X-Codex-Primary-Window-Minutes": "10080",
      "X-Codex-Primary-Reset-At": seconds(later),
      "X-Codex-Secondary-Used-Percent": "12.5",
      "X-Codex-Secondary-Window-Minutes": "300",
      "X-Codex-Secondary-Reset-After-Seconds": "7200",
      "X-Codex-Primary-Over-Secondary-Limit-Percent": "300",
      "X-Codex-Credits-Has-Credits": "true",
      "X-Codex-Credits-Unlimited": "false",
      "X-Codex-Credits-Balance": "12.5",
    },
    [
      week({ usedPpm: 400_000, resetAt: later }),
      limit({ usedPpm: 125_000, resetAt: soon }),
      limit({ window: "credits", windowMs: null, unit: "credits", remaining: 12.5, status: "allowed" }),
    ],
  ],
  [
    "another family of Codex, and one without a name",
    {
      "x-codex-bengalfox-primary-used-percent": "100",
      "x-codex-bengalfox-primary-window-minutes": "300",
      "x-codex-bengalfox-limit-name": "GPT-5.3 Codex Spark",
      "x-review-secondary-used-percent": "3",
      "x-review-secondary-window-minutes": "90",
      "x-odd-primary-used-percent": "3",
      "x-odd-primary-window-minutes": "300",
      "x-odd-limit-name": "日本",
    },
    [
      limit({ scope: "gpt-5.3_codex_spark", usedPpm: 1_000_000, status: "exceeded" }),
      limit({ window: "90m", windowMs: 90 * MINUTE, scope: "review", usedPpm: 30_000 }),
    ],
  ],
  [
    "Codex's windows without a length or a use",
    {
      "x-codex-primary-used-percent": "40",
      "x-codex-secondary-window-minutes": "300",
      "x-codex-credits-has-credits": "false",
    },
    [],
  ],
  [
    "unlimited credits",
    {
      "x-codex-credits-has-credits": "True",
      "x-codex-credits-unlimited": "true",
      "x-codex-credits-balance": "0",
    },
    [limit({ window: "credits", windowMs: null, unit: "credits", status: "allowed" })],
  ],
  [
    "OpenAI's rate limits, with durations",
    {
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-remaining-requests": "15",
      "x-ratelimit-reset-requests": "12ms",
      "x-ratelimit-limit-tokens": "1000000",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "6m0s",
      "x-ratelimit-limit-tokens_usage_based": "100",
    },
    [
      limit({
        window: "rate",
        windowMs: null,
        scope: "gpt-5",
        unit: "requests",
        limit: 60,
        remaining: 15,
        usedPpm: 750_000,
        resetAt: now + 12,
      }),
      limit({
        window: "rate",
        windowMs: null,
        scope: "gpt-5",
        unit: "tokens",
        limit: 1_000_000,
        remaining: 0,
        usedPpm: 1_000_000,
        resetAt: now + 6 * MINUTE,
        status: "exceeded",
      }),
    ],
  ],
  [
    "Azure's integers, with -1 and 0 for unknown",
    {
      "x-ratelimit-limit-requests": "-1",
      "x-ratelimit-remaining-requests": "-1",
      "x-ratelimit-limit-tokens": "0",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-remaining-input-tokens": "900",
      "x-ratelimit-reset-input-tokens": "30",
    },
    [
      limit({
        window: "rate",
        windowMs: null,
        scope: "gpt-5",
        unit: "input_tokens",
        remaining: 900,
        resetAt: now + 30_000,
      }),
    ],
  ],
  [
    "Anthropic's rate limits, with RFC 3339",
    {
      "anthropic-ratelimit-input-tokens-limit": "40000",
      "anthropic-ratelimit-input-tokens-remaining": "39000",
      "anthropic-ratelimit-input-tokens-reset": "2026-08-31T09:20:30Z",
      "anthropic-ratelimit-requests-limit": "50",
      "anthropic-ratelimit-requests-remaining": "60",
    },
    [
      limit({
        window: "1m",
        windowMs: MINUTE,
        scope: "gpt-5",
        unit: "input_tokens",
        limit: 40_000,
        remaining: 39_000,
        usedPpm: 25_000,
        resetAt: now + 30_000,
      }),
      limit({ window: "1m", windowMs: MINUTE, scope: "gpt-5", unit: "requests", limit: 50, remaining: 60 }),
    ],
  ],
  [
    "periods in the name, fractions of seconds and times since the epoch",
    {
      "x-ratelimit-limit-requests-day": "14400",
      "x-ratelimit-remaining-requests-day": "7200",
      "x-ratelimit-reset-requests-day": "33011.382867",
      "x-ratelimit-limit": "20",
      "x-ratelimit-remaining": "19",
      "x-ratelimit-reset": `${soon}`,
    },
    [
      limit({
        window: "1d",
        windowMs: DAY,
        scope: "gpt-5",
        unit: "requests",
        limit: 14_400,
        remaining: 7_200,
        usedPpm: 500_000,
        resetAt: now + 33_011_383,
      }),
      limit({
        window: "rate",
        windowMs: null,
        scope: "gpt-5",
        unit: "requests",
        limit: 20,
        remaining: 19,
        usedPpm: 50_000,
        resetAt: soon,
      }),
    ],
  ],
  [
    "Copilot's quotas",
    {
      "x-quota-snapshot-premium_interactions":
        "ent=300&ov=0.0&ovPerm=false&rem=29.7&rst=2026-09-01T00%3A00%3A00Z",
      "x-quota-snapshot-chat": "ent=-1&rem=100.0&rst=2026-09-01T00%3A00%3A00Z",
      "x-quota-snapshot-completions": "ent=0&rem=0&rst=%E0%A4%A",
      "x-quota-snapshot-": "ent=300&rem=50",
      "x-quota-snapshot-premium_models": "rem=120",
      "x-usage-ratelimit-weekly": "rem=75&rst=2026-09-04T00:00:00Z",
      "x-usage-ratelimit-session": "rem=10",
      "x-usage-ratelimit-other": "rem=10",
    },
    [
      limit({
        window: "1mo",
        windowMs: 31 * DAY,
        scope: "premium_interactions",
        usedPpm: 703_000,
        limit: 300,
        resetAt: Date.UTC(2026, 8, 1),
      }),
      limit({ window: "1mo", windowMs: null, scope: "completions", usedPpm: 1_000_000, status: "exceeded" }),
      week({ usedPpm: 250_000, resetAt: Date.UTC(2026, 8, 4) }),
      limit({ window: "session", windowMs: null, usedPpm: 900_000 }),
    ],
  ],
  ["a value that is too long", { "x-ratelimit-limit": "1".padStart(600, "0") }, []],
];

describe("readHeaderLimits()", () => {
  for (const [text, headers, expected] of table)
    it(`reads ${text}`, () => assert.deepEqual(read(headers, "gpt-5"), expected));

  it("reads the first of repeated headers", () => {
    const headers = [
      ["Anthropic-Ratelimit-Unified-5h-Utilization", "0.1"],
      ["anthropic-ratelimit-unified-5h-utilization", "0.9"],
    ] as const;
    assert.deepEqual(readList(headers), [limit({ usedPpm: 100_000 })]);
  });

  it("keeps the first of two limits of one window", () => {
    const family = (name: string, used: string) => ({
      [`x-${name}-primary-used-percent`]: used,
      [`x-${name}-primary-window-minutes`]: "300",
    });
    const limits = read({ ...family("one", "10"), "x-one-limit-name": "two", ...family("two", "20") });
    assert.deepEqual(limits, [limit({ scope: "two", usedPpm: 100_000 })]);
  });

  // Found: a reader that kept a scope of any length, when `readName()` did not cut it.
  it("states sound limits whatever the headers are", () => {
    const part = fc.constantFrom(
      ...[
        "unified-",
        "5h",
        "7d",
        "_opus",
        "-status",
        "-utilization",
        "-reset",
        "overage",
        "one_week",
        "constructor_day",
      ],
      ...[
        "requests",
        "tokens",
        "input-tokens",
        "-limit",
        "-remaining",
        "-minute",
        "-primary",
        "-used-percent",
      ],
      ...["-window-minutes", "-reset-at", "-limit-name", "a".repeat(80), "representative-claim"],
    );
    const name = fc
      .tuple(
        fc.constantFrom("anthropic-ratelimit-", "x-ratelimit-", "x-codex", "x-quota-snapshot-", "x-"),
        fc.array(part, { maxLength: 5 }),
      )
      .map(([prefix, parts]) => prefix + parts.join(""));
    const sampled = fc
      .constantFrom(...table.map(([, headers]) => Object.entries(headers)))
      .chain((headers) =>
        fc.tuple(
          ...headers.map(([known, value]) =>
            fc.tuple(
              fc.constant(known),
              fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, hostileValue),
            ),
          ),
        ),
      );
    const made = fc.array(fc.tuple(name, hostileValue), { maxLength: 30 });
    fc.assert(
      fc.property(sampled, made, (some, others) => {
        assertSound(readList([...some, ...others]));
      }),
      { numRuns: 1_000 },
    );
  });

  it("bounds the number of limits", () => {
    const families = Array.from({ length: 100 }, (_, index) => ({
      [`x-f${index}-primary-used-percent`]: "1",
      [`x-f${index}-primary-window-minutes`]: "300",
      [`anthropic-ratelimit-unified-${index + 1}h-utilization`]: "0.5",
    }));
    assert.equal(read(Object.assign({}, ...families)).length, 32);
  });
});

describe("pickLimitHeaders()", () => {
  const pick = (headers: Headers) => pickLimitHeaders(Object.entries(headers));

  it("finds nothing in most responses", () => {
    assert.equal(pick({ "content-type": "text/plain", "x-request-id": "r" }), null);
  });

  it("has the same signature for the same values", () => {
    const one = { "x-ratelimit-limit": "60", "x-request-id": "1" };
    assert.equal(pick(one)?.signature, pick({ ...one, "x-request-id": "2" })?.signature);
    assert.notEqual(pick(one)?.signature, pick({ ...one, "x-ratelimit-limit": "61" })?.signature);
  });

  it("distinguishes rate limits from others", () => {
    const rates = { "x-ratelimit-limit": "60", "anthropic-ratelimit-requests-limit": "5" };
    assert.equal(statesOnlyRates(pick(rates)!), true);
    for (const name of [
      "anthropic-ratelimit-unified-status",
      "x-codex-promo-message",
      "x-quota-snapshot-chat",
    ])
      assert.equal(statesOnlyRates(pick({ ...rates, [name]: "1" })!), false, name);
  });
});
