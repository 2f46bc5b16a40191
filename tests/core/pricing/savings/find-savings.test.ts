import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  findSavings,
  LONG_PROMPT_TOKENS,
  MIN_REQUESTS,
  type ModelUsage,
  THINKING_SHARE_PERCENT,
} from "../../../../core/pricing/savings/find-savings.ts";

const RATES = {
  input: 1_000_000,
  output: 5_000_000,
  cacheRead: 100_000,
  cacheWrite: 1_250_000,
  cacheWrite1h: 2_000_000,
};

const usage = (fields: Partial<ModelUsage> = {}): ModelUsage => ({
  provider: "anthropic",
  model: "m",
  project: null,
  requests: MIN_REQUESTS,
  promptTokens: 0,
  completionTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  thinkingTokens: 0,
  costPicoUsd: 7n,
  planUsagePicoUsd: 0n,
  unknownBillingPicoUsd: 0n,
  rates: RATES,
  ...fields,
});

describe("findSavings()", () => {
  it("finds the savings of the table", () => {
    const long = MIN_REQUESTS * LONG_PROMPT_TOKENS;
    const rows: [what: string, fields: Partial<ModelUsage>, found: [string, bigint | null][]][] = [
      ["nothing", {}, []],
      ["writes that nobody read", { cacheWriteTokens: 100 }, [["cache_written_unread", 25_000_000n]]],
      // The writes cost 25,000,000 more; each token read saves 900,000.
      ["some read", { cacheWriteTokens: 100, cacheReadTokens: 27 }, [["cache_written_unread", 700_000n]]],
      [
        "writes that a plan may cover",
        { cacheWriteTokens: 100, planUsagePicoUsd: 1n },
        [["cache_written_unread", null]],
      ],
      [
        "writes of calls with unknown billing",
        { cacheWriteTokens: 100, unknownBillingPicoUsd: 1n },
        [["cache_written_unread", null]],
      ],
      ["enough read", { cacheWriteTokens: 100, cacheReadTokens: 28 }, []],
      ["no rates", { cacheWriteTokens: 100, rates: null }, []],
      ["no rate for writes", { cacheWriteTokens: 100, rates: { ...RATES, cacheWrite: null } }, []],
      ["free writes", { cacheWriteTokens: 100, rates: { ...RATES, cacheWrite: 1_000_000 } }, []],
      ["long prompts", { promptTokens: long }, [["prompt_uncached", null]]],
      ["nearly long prompts", { promptTokens: long - 1 }, []],
      ["few long prompts", { promptTokens: long, requests: MIN_REQUESTS - 1 }, []],
      ["long prompts, cached", { promptTokens: long, cacheReadTokens: 1 }, []],
      [
        "long prompts, no price for the cache",
        { promptTokens: long, rates: { ...RATES, cacheRead: null } },
        [],
      ],
      [
        "long prompts, a cache that saves nothing",
        { promptTokens: long, rates: { ...RATES, cacheRead: 1_000_000 } },
        [],
      ],
      [
        "thinking",
        { thinkingTokens: THINKING_SHARE_PERCENT, completionTokens: 20 },
        [["thinking_dominates", null]],
      ],
      ["less thinking", { thinkingTokens: THINKING_SHARE_PERCENT, completionTokens: 21 }, []],
      ["little thinking", { thinkingTokens: 80, requests: MIN_REQUESTS - 1 }, []],
    ];
    for (const [what, fields, found] of rows) {
      const savings = findSavings([usage(fields)], []);
      assert.deepEqual(
        savings.map(({ kind, savingPicoUsd }) => [kind, savingPicoUsd]),
        found,
        what,
      );
    }
  });

  it("sorts the largest saving first, then findings without a figure by cost", () => {
    const long = { promptTokens: MIN_REQUESTS * LONG_PROMPT_TOKENS };
    const repeated = { provider: "p", model: "r", project: "x", requests: 3, unknownBillingPicoUsd: 0n };
    const found = findSavings(
      [
        usage({ ...long, model: "cheap", costPicoUsd: 1n }),
        usage({ ...long, model: "dear", costPicoUsd: 10n ** 25n }),
        usage({ model: "written", cacheWriteTokens: 1 }),
      ],
      [
        { ...repeated, costPicoUsd: 10n ** 20n },
        { ...repeated, model: "free", costPicoUsd: 0n },
      ],
    );
    assert.deepEqual(
      found.map(({ model }) => model),
      ["r", "written", "free", "dear", "cheap"],
    );
    assert.equal(found[0]?.savingPicoUsd, 10n ** 20n);
  });

  it("counts as a saving what was spent, and keeps what may not have been apart", () => {
    const repeated = { provider: "p", model: "r", project: null, requests: 3 };
    const [both, unknown, free] = [
      { ...repeated, costPicoUsd: 5n, unknownBillingPicoUsd: 7n },
      { ...repeated, costPicoUsd: 0n, unknownBillingPicoUsd: 7n },
      { ...repeated, costPicoUsd: 0n, unknownBillingPicoUsd: 0n },
    ].map((each) => findSavings([], [each])[0]!);
    const figures = [both, unknown, free].map((found) => [
      found?.costPicoUsd,
      found?.unknownBillingPicoUsd,
      found?.savingPicoUsd,
    ]);
    assert.deepEqual(figures, [
      [5n, 7n, 5n],
      [0n, 7n, null],
      [0n, 0n, 0n],
    ]);
    assert.match(both?.summary ?? "", /would have saved the cost of those billed by usage\.$/);
    assert.match(unknown?.summary ?? "", /would have saved the cost of those billed by usage\.$/);
    assert.match(free?.summary ?? "", /would have saved their cost\.$/);
  });

  it("sorts by requests if the costs are equal", () => {
    const long = { promptTokens: 10 * MIN_REQUESTS * LONG_PROMPT_TOKENS };
    const found = findSavings([usage(long), usage({ ...long, requests: 2 * MIN_REQUESTS })], []);
    assert.deepEqual(
      found.map(({ requests }) => requests),
      [2 * MIN_REQUESTS, MIN_REQUESTS],
    );
  });
});
