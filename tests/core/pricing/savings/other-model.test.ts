import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../../core/pricing/price-usage.ts";
import { NO_RATES, type RateRow, type Rates } from "../../../../core/pricing/rates.ts";
import { compareOnModel, priceOnModel } from "../../../../core/pricing/savings/other-model.ts";
import {
  emptySums,
  sumOf,
  type TokenSums,
  type UsageSums,
} from "../../../../core/pricing/view/usage-sums.ts";

const rowOf = (rates: Partial<Rates>, model = "other"): RateRow => ({
  ...{ provider: "anthropic", model, source: "bundled", match: null },
  ...{ effectiveFrom: null, effectiveTo: null, daily: null, provenanceDate: "2026-09-23" },
  rates: { ...NO_RATES, ...rates },
});

const sumsOf = (tokens: Partial<TokenSums>, more: Partial<UsageSums> = {}): UsageSums => {
  const sums = { ...emptySums(), requests: 1, ...more };
  Object.assign(sums.tokens, tokens);
  return sums;
};

const aRate = fc.nat(100_000_000);
const someRates = fc.record({
  input: aRate,
  output: aRate,
  cacheRead: fc.option(aRate),
  cacheWrite: fc.option(aRate),
  cacheWrite1h: fc.option(aRate),
  thinking: fc.option(aRate),
});
const aCount = fc.nat(10_000_000);
const someTokens = fc.record({
  promptTokens: aCount,
  cacheReadTokens: fc.option(aCount),
  cacheWriteTokens: fc.option(aCount),
  cacheWrite1hTokens: fc.option(fc.nat(1_000)),
  completionTokens: aCount,
  thinkingTokens: fc.option(aCount),
});
type Tokens = typeof someTokens extends fc.Arbitrary<infer Value> ? Value : never;

const toBigInt = (count: number | null) => (count === null ? null : BigInt(count));
const sumsOfTokens = (tokens: Tokens): UsageSums =>
  sumsOf({
    prompt: toBigInt(tokens.promptTokens),
    cacheRead: toBigInt(tokens.cacheReadTokens),
    cacheWrite: toBigInt(tokens.cacheWriteTokens),
    cacheWrite1h: toBigInt(
      tokens.cacheWrite1hTokens === null
        ? null
        : Math.min(tokens.cacheWrite1hTokens, tokens.cacheWriteTokens ?? 0),
    ),
    completion: toBigInt(tokens.completionTokens),
    thinking: toBigInt(tokens.thinkingTokens),
  });

describe("priceOnModel()", () => {
  it("equals the sum of the prices of the requests, for a model without context tiers", () => {
    // Fails if one-hour writes are also counted as writes, or if thinking is left out.
    fc.assert(
      fc.property(
        someRates,
        fc.constantFrom("other", "claude-sonnet-4-5"),
        fc.array(someTokens, { minLength: 1, maxLength: 6 }),
        (rates, model, requests) => {
          const row = rowOf(rates, model);
          const book = createPriceBook([row]);
          const costs = requests.map((tokens) => {
            const call = {
              ...{ provider: "anthropic", model, requestedModel: null, at: 0, tokens },
              ...{ extras: null, serviceTier: null, providerCostPicoUsd: null, requestKind: "chat" as const },
            };
            return priceUsage(call, book).costPicoUsd ?? assert.fail("unpriced");
          });
          const { costPicoUsd, unknown } = priceOnModel(sumOf(requests.map(sumsOfTokens)), row);
          assert.equal(unknown, null);
          assert.equal(
            costPicoUsd,
            costs.reduce((sum, cost) => sum + cost, 0n),
          );
        },
      ),
    );
  });

  it("says which kinds of tokens the model has no price for, and what they are counted as", () => {
    const tokens = { prompt: 1n, cacheRead: 10n, cacheWrite: 30n, cacheWrite1h: 10n, completion: 1n };
    const assumed = (rates: Partial<Rates>, own: Partial<TokenSums> = {}) =>
      priceOnModel(sumsOf({ ...tokens, ...own }), rowOf(rates)).assumed.map(
        ({ kind, counted }) => `${kind} as ${counted}`,
      );
    const base = { input: 2, output: 3 };
    assert.deepEqual(assumed(base), [
      "cache reads as input",
      "cache writes as input",
      "one-hour cache writes as input",
    ]);
    assert.deepEqual(assumed({ ...base, cacheRead: 1, cacheWrite: 4 }), [
      "one-hour cache writes as cache writes",
    ]);
    assert.deepEqual(assumed({ ...base, cacheRead: 1, cacheWrite: 4, cacheWrite1h: 5 }), []);
    assert.deepEqual(assumed(base, { cacheRead: null, cacheWrite: 10n }), ["one-hour cache writes as input"]);
    assert.deepEqual(assumed(base, { cacheRead: 0n, cacheWrite: null, cacheWrite1h: null }), []);
    // Planted: the sums of a cloud, which do not have the one-hour writes, were priced as if there were none.
    const unknown = { cacheRead: null, cacheWrite1h: null };
    assert.deepEqual(assumed({ ...base, cacheWrite: 4, cacheWrite1h: 5 }, unknown), [
      "cache writes as five-minute cache writes",
    ]);
    assert.deepEqual(assumed({ ...base, cacheWrite: 4 }, unknown), []);
  });

  it("is unknown without token counts or without a price for input or output", () => {
    const cost = (tokens: Partial<TokenSums>, rates: Partial<Rates>, more: Partial<UsageSums> = {}) => {
      const { costPicoUsd, unknown } = priceOnModel(sumsOf(tokens, more), rowOf(rates));
      return costPicoUsd ?? unknown;
    };
    const rates = { input: 2, output: 3 };
    assert.equal(cost({ prompt: 5n, completion: 1n }, rates), 13n);
    assert.equal(cost({}, rates), "no token counts");
    // One of two calls has no counts, so the sums are those of the other one.
    const one = { requests: 2, unpriced: 1, incomplete: 1 };
    assert.equal(cost({ prompt: 5n, completion: 1n }, rates, one), "incomplete token counts");
    assert.equal(cost({ prompt: 5n, completion: 1n }, rates, { ...one, incomplete: 0 }), 13n);
    assert.equal(cost({ prompt: 5n, completion: 1n }, rates, { ...one, failed: 1 }), 13n);
    assert.equal(cost({ prompt: 5n, completion: 1n }, rates, { ...one, unpriced: 0 }), 13n);
    assert.equal(cost({ prompt: 5n }, { output: 3 }), "no price for input");
    assert.equal(cost({ prompt: 5n, thinking: 1n }, { input: 2 }), "no price for output");
    // An embedding has no output.
    assert.equal(cost({ prompt: 5n }, { input: 2 }), 10n);
    // Calls that failed or were refused used nothing.
    assert.equal(cost({}, rates, { requests: 3, failed: 2, blocked: 1 }), 0n);
    assert.equal(cost({}, rates, { requests: 3, failed: 2 }), "no token counts");
  });
});

describe("compareOnModel()", () => {
  it("adds up the models of which both costs are known, and leaves the model itself as it was", () => {
    const row = rowOf({ input: 2, output: 3 });
    const tokens = { prompt: 10n, completion: 10n };
    const given = [
      { sums: sumsOf(tokens, { spentPicoUsd: 70n, planUsagePicoUsd: 20n, unknownBillingPicoUsd: 10n }) },
      { sums: sumsOf(tokens, { spentPicoUsd: 77n }), isSame: true },
      { sums: sumsOf(tokens, { unpriced: 1, spentPicoUsd: 5n }) },
      { sums: sumsOf({}, { spentPicoUsd: 9n }) },
      { sums: sumsOf(tokens, { unpriced: 1 }), isSame: true },
    ];
    const compared = compareOnModel(
      given.map((each) => ({ isSame: false, ...each })),
      row,
    );
    assert.deepEqual(
      compared.models.map(({ costPicoUsd, other, differencePicoUsd }) => [
        costPicoUsd,
        other.costPicoUsd,
        differencePicoUsd,
      ]),
      [
        [100n, 50n, -50n],
        [77n, 77n, 0n],
        [null, 50n, null],
        [9n, null, null],
        [null, 50n, null],
      ],
    );
    const { known, costPicoUsd, otherPicoUsd } = compared;
    assert.deepEqual([known, costPicoUsd, otherPicoUsd], [2, 177n, 127n]);
  });

  it("has a difference of the sums that is the sum of the differences", () => {
    fc.assert(
      fc.property(
        someRates,
        fc.array(
          fc.record({ tokens: someTokens, spentPicoUsd: fc.bigInt(0n, 10n ** 20n), unpriced: fc.nat(1) }),
        ),
        (rates, given) => {
          const usage = given.map(({ tokens, spentPicoUsd, unpriced }) => ({
            sums: { ...sumsOfTokens(tokens), spentPicoUsd, unpriced },
            isSame: false,
          }));
          const { models, costPicoUsd, otherPicoUsd } = compareOnModel(usage, rowOf(rates));
          const differences = models.reduce((sum, each) => sum + (each.differencePicoUsd ?? 0n), 0n);
          assert.equal(otherPicoUsd - costPicoUsd, differences);
        },
      ),
    );
  });
});
