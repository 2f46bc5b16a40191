import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TokenRates } from "../../../../core/pricing/rates.ts";
import {
  answerSavings,
  joinReads,
  MAX_FINDINGS,
  printSavingsQuery,
  type RepeatSearch,
  type SavingsData,
  savingsQuery,
  sharedModels,
} from "../../../../core/pricing/savings/answer-savings.ts";
import { savingsCsv } from "../../../../core/pricing/savings/savings-export.ts";
import { planUsage } from "../../../../core/pricing/view/usage-plan.ts";
import { parseUsageQuery } from "../../../../core/pricing/view/usage-query.ts";
import { emptySums, type UsageSums } from "../../../../core/pricing/view/usage-sums.ts";
import { findZone } from "../../../../core/values/zone.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { savingsAnswerSchema } from "../../../../core/wire/savings.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const DAY_MS = 86_400_000;

const RATES: TokenRates = {
  input: 1_000_000,
  output: 5_000_000,
  cacheRead: 100_000,
  cacheWrite: 1_250_000,
  cacheWrite1h: 2_000_000,
};

const NO_REPEATS: RepeatSearch = { repeated: [], searched: 3, since: null };

/** The sums of requests that read and wrote tokens. */
const sums = (
  read: bigint | null,
  write: bigint | null,
  paid: Partial<Omit<UsageSums, "tokens">> = { spentPicoUsd: 1n },
): UsageSums => ({
  ...emptySums(),
  requests: 2,
  ...paid,
  tokens: { ...emptySums().tokens, prompt: 10n, cacheRead: read, cacheWrite: write },
});

function planOf(text: string, floor?: number) {
  const zone = findZone("UTC");
  assert.ok(zone !== null);
  const { query } = parseUsageQuery(new URLSearchParams(text));
  const planned = planUsage(savingsQuery(query), { now: NOW, zone, ...(floor !== undefined && { floor }) });
  assert.ok(planned.ok);
  return planned.plan;
}

function answer(
  data: Partial<SavingsData>,
  text = "period=7d&bucket=day&project=p",
  rates: typeof RATES | null = RATES,
) {
  const plan = planOf(text);
  return answerSavings(plan, { groups: [], buckets: [], repeats: NO_REPEATS, ...data }, () => rates);
}

/** The answer to one bucket of one model. */
const cacheOf = (each: UsageSums, rates: typeof RATES | null = RATES) =>
  answer({ buckets: [{ bucket: 6, by: "m", provider: "a", sums: each }] }, undefined, rates).cache;

describe("answerSavings()", () => {
  it("computes what reads saved and what writes cost, of money and of plans apart", () => {
    const rows: [
      what: string,
      sums: UsageSums,
      saved: readonly [string, string, string],
      uncounted: number,
    ][] = [
      ["reads", sums(10n, null), ["9000000", "0", "0"], 0],
      ["reads and writes", sums(10n, 4n), ["9000000", "1000000", "0"], 0],
      ["neither", sums(null, 0n), ["0", "0", "0"], 0],
      ["a plan", sums(10n, 4n, { planUsagePicoUsd: 5n }), ["0", "0", "8000000"], 0],
      ["both", sums(10n, 4n, { planUsagePicoUsd: 5n, spentPicoUsd: 1n }), ["0", "0", "0"], 2],
      ["unknown billing", sums(10n, 4n, { spentPicoUsd: 1n, unknownBillingPicoUsd: 1n }), ["0", "0", "0"], 2],
      ["some unpriced", sums(10n, 4n, { spentPicoUsd: 1n, unpriced: 1 }), ["0", "0", "0"], 2],
      ["nothing paid", sums(10n, 4n, {}), ["0", "0", "0"], 2],
    ];
    for (const [what, each, saved, uncounted] of rows) {
      const cache = cacheOf(each);
      const { reads_saved_pico_usd, writes_cost_pico_usd, plan_saved_pico_usd } = cache;
      assert.deepEqual([reads_saved_pico_usd, writes_cost_pico_usd, plan_saved_pico_usd], saved, what);
      assert.equal(
        cache.saved_pico_usd,
        (BigInt(reads_saved_pico_usd) - BigInt(writes_cost_pico_usd)).toString(),
        what,
      );
      assert.equal(cache.uncounted_requests, uncounted, what);
    }
  });

  it("states no amount without the rates that it needs", () => {
    for (const [each, rates, uncounted] of [
      [sums(10n, 4n), null, 2],
      [sums(10n, 4n), { ...RATES, input: null }, 2],
      [sums(10n, null), { ...RATES, cacheRead: null }, 2],
      [sums(null, 4n), { ...RATES, cacheWrite: null }, 2],
      [sums(10n, null), { ...RATES, cacheWrite: null }, 0],
      [sums(null, 4n), { ...RATES, cacheRead: null }, 0],
    ] as const)
      assert.equal(cacheOf(each, rates).uncounted_requests, uncounted, JSON.stringify(rates));
  });

  it("takes the rates of the end of each bucket, and adds buckets up", () => {
    const plan = planOf("period=7d&bucket=day");
    const asked: number[] = [];
    const savings = answerSavings(
      plan,
      {
        groups: [{ by: "m", thenBy: null, provider: "a", sums: sums(20n, 4n, { planUsagePicoUsd: 1n }) }],
        buckets: [
          { bucket: 0, by: "m", provider: "a", sums: sums(10n, 4n) },
          { bucket: 6, by: null, provider: "a", sums: sums(10n, null) },
        ],
        repeats: NO_REPEATS,
      },
      (_provider, _model, at) => {
        asked.push(at);
        return RATES;
      },
    );
    const day = Math.floor(NOW / DAY_MS) * DAY_MS;
    assert.deepEqual(asked, [day - 5 * DAY_MS - 1, NOW]);
    assert.ok(parseWire(savingsAnswerSchema, savings).ok);
    assert.equal(savings.buckets.length, 7);
    assert.deepEqual(
      [savings.buckets[0], savings.buckets[1]].map((bucket) => [
        bucket?.saved_pico_usd,
        bucket?.read_tokens,
        bucket?.input_tokens,
      ]),
      [
        ["8000000", 10, 24],
        ["0", null, 0],
      ],
    );
    assert.deepEqual(
      savings.buckets.map(({ requests }) => requests),
      [2, 0, 0, 0, 0, 0, 2],
    );
    const total = savings.buckets.reduce((sum, { saved_pico_usd }) => sum + BigInt(saved_pico_usd), 0n);
    assert.equal(savings.cache.saved_pico_usd, total.toString());
    assert.deepEqual(
      [savings.requests, savings.cache.read_tokens, savings.cache.write_tokens, savings.cache.fresh_tokens],
      [2, 20, 4, 10],
    );
    // A plan covers all of the usage, so a finding about it would save nothing.
    assert.deepEqual(savings.findings, []);
  });

  it("links each finding to its requests, and repeated prompts to the time that was searched", () => {
    const repeated = {
      ...{ provider: "a", model: "m", project: null, requests: 4 },
      ...{ costPicoUsd: 9n, unknownBillingPicoUsd: 0n },
    };
    const since = NOW - DAY_MS;
    const savings = answer({
      groups: [{ by: "m", thenBy: "p", provider: "a", sums: sums(null, 100n) }],
      repeats: { repeated: [repeated], searched: 20_000, since },
    });
    assert.deepEqual(
      savings.findings.map(({ kind, project, saving_pico_usd, query }) => [
        kind,
        project,
        saving_pico_usd,
        query,
      ]),
      [
        ["cache_written_unread", "p", "25000000", "period=7d&project=p&model=m&provider=a"],
        [
          "repeated_prompt",
          null,
          "9",
          `from=${encodeURIComponent("2026-11-22T12:00:00.000Z")}&to=${encodeURIComponent("2026-11-23T12:00:00.001Z")}&project=&model=m&provider=a`,
        ],
      ],
    );
    assert.deepEqual(savings.repeats, { searched: 20_000, since: "2026-11-22T12:00:00.000Z" });
    const whole = answer({ repeats: { ...NO_REPEATS, repeated: [repeated] } });
    assert.equal(whole.findings[0]?.query, "period=7d&project=&model=m&provider=a");
  });

  it("keeps the largest findings, and says how many more there are", () => {
    const groups = Array.from({ length: MAX_FINDINGS + 2 }, (_, n) => ({
      ...{ by: n === 0 ? null : `m${n}`, thenBy: null, provider: "a" },
      sums: sums(null, BigInt(n + 1)),
    }));
    const savings = answer({ groups });
    assert.deepEqual([savings.findings.length, savings.more_findings], [MAX_FINDINGS, 2]);
    assert.equal(savings.findings[0]?.model, `m${MAX_FINDINGS + 1}`);
  });

  it("reads all token counts of a model, of which any may be unknown", () => {
    const all = {
      prompt: 90_000n,
      cacheRead: 0n,
      cacheWrite: 0n,
      cacheWrite1h: 0n,
      completion: 1n,
      thinking: 9n,
    };
    const full = { ...emptySums(), requests: 20, spentPicoUsd: 1n, tokens: all };
    const none = { ...emptySums(), requests: 20, spentPicoUsd: 1n };
    const savings = answer({
      groups: [
        { by: "m", thenBy: "p", provider: "a", sums: full },
        { by: "n", thenBy: "p", provider: "a", sums: none },
      ],
      buckets: [{ bucket: 0, by: "n", provider: "a", sums: none }],
    });
    assert.deepEqual(
      savings.findings.map(({ kind, model, saving_pico_usd }) => [kind, model, saving_pico_usd]),
      [
        ["prompt_uncached", "m", null],
        ["thinking_dominates", "m", null],
      ],
    );
    assert.equal(savings.buckets[0]?.input_tokens, null);
  });

  it("states the requested start if it is no longer kept", () => {
    const plan = planOf("period=7d", NOW - 2 * DAY_MS);
    const savings = answerSavings(plan, { groups: [], buckets: [], repeats: NO_REPEATS }, () => null);
    assert.equal(savings.clamped_from, "2026-11-17T00:00:00.000Z");
    assert.equal(savings.period.from, "2026-11-21T12:00:00.000Z");
  });
});

describe("savingsQuery()", () => {
  it("keeps period, zone, buckets and filters, and always has buckets", () => {
    const { query } = parseUsageQuery(
      new URLSearchParams("period=90d&tz=Asia/Tokyo&bucket=none&by=client&metric=tokens&model=x"),
    );
    const own = savingsQuery(query);
    assert.deepEqual([own.by, own.thenBy, own.bucket, own.metric], ["model", "project", "auto", "spent"]);
    assert.equal(printSavingsQuery(own), "period=90d&tz=Asia%2FTokyo&model=x");
  });
});

describe("joinReads()", () => {
  const group = (by: string | null, thenBy: string | null) => ({ by, thenBy, sums: sums(1n, null) });
  const byProvider = [group("one", "a"), group("two", "a"), group("two", "b"), group(null, null)];

  it("finds the provider of each model, and reads a model of several providers by provider", () => {
    assert.deepEqual(sharedModels(byProvider), ["two"]);
    const bucket = (by: string | null) => ({ bucket: 0, by, sums: sums(1n, null) });
    const joined = joinReads(
      {
        groups: [group("one", "p"), group("two", "p"), group(null, null), group("new", "p")],
        buckets: [bucket("one"), bucket("two")],
      },
      byProvider,
      new Map([
        ["two", { groups: [group("a", "p"), group("b", "p"), group(null, "p")], buckets: [bucket("b")] }],
      ]),
    );
    assert.deepEqual(
      joined.groups.map(({ provider, by, thenBy }) => [provider, by, thenBy]),
      [
        ["a", "one", "p"],
        ["", null, null],
        // Its first request was stored between the two reads.
        ["", "new", "p"],
        ["a", "two", "p"],
        ["b", "two", "p"],
        ["", "two", "p"],
      ],
    );
    assert.deepEqual(
      joined.buckets.map(({ provider, by }) => [provider, by]),
      [
        ["a", "one"],
        ["b", "two"],
      ],
    );
  });
});

describe("savingsCsv()", () => {
  it("has a line for each finding, with exact amounts and its query", () => {
    const savings = answer({
      groups: [{ by: "m", thenBy: "=p", provider: "a", sums: sums(null, 100n) }],
      repeats: {
        ...NO_REPEATS,
        repeated: [
          {
            ...{ provider: "a", model: "m", project: null, requests: 4 },
            ...{ costPicoUsd: 0n, unknownBillingPicoUsd: 7n },
          },
        ],
      },
    });
    const lines = savingsCsv(savings).split("\r\n");
    assert.equal(lines.length, 4);
    assert.match(lines[1] ?? "", /^cache_written_unread,a,m,'=p,2,0\.000000000001,0,0\.000025,/);
    assert.match(lines[2] ?? "", /^repeated_prompt,a,m,,4,0,0\.000000000007,,/);
    assert.match(lines[1] ?? "", /,UTC,period=7d&project=%3Dp&model=m&provider=a$/);
  });
});
