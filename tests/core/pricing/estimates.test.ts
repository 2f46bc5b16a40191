import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../core/pricing/price-usage.ts";
import type { UsageToPrice } from "../../../core/pricing/usage-to-price.ts";

const book = createPriceBook(loadBundledRates());
const usage: UsageToPrice = {
  provider: "openai",
  model: "gpt-5-mini",
  requestedModel: null,
  at: Date.UTC(2026, 2, 2),
  tokens: {
    promptTokens: 100,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    cacheWrite1hTokens: null,
    completionTokens: 10,
    thinkingTokens: null,
  },
  extras: null,
  serviceTier: null,
  providerCostPicoUsd: null,
  requestKind: "chat",
};

describe("priceUsage() of estimated counts", () => {
  for (const extras of [
    { estimated_input: 1 },
    { estimated_output: 1 },
    { estimated_input: 1, estimated_output: 1 },
  ]) {
    it(`returns the same cost with ${Object.keys(extras).join(" and ")}, marked as an estimate`, () => {
      const computed = priceUsage(usage, book);
      const estimated = priceUsage({ ...usage, extras }, book);
      assert.equal(computed.costSource, "computed");
      assert.deepEqual(estimated, { ...computed, costSource: "estimated" });
    });
  }

  it("uses the cost stated by the provider instead", () => {
    const priced = priceUsage({ ...usage, extras: { estimated_input: 1 }, providerCostPicoUsd: 5n }, book);
    assert.deepEqual([priced.costSource, priced.costPicoUsd], ["provider", 5n]);
  });
});
