import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../core/pricing/price-usage.ts";
import { NO_RATES, type RateRow, type Rates } from "../../../core/pricing/rates.ts";
import type { UsageToPrice } from "../../../core/pricing/usage-to-price.ts";

const NONE = { input: null, output: null, cacheRead: null, cacheWrite: null, cacheWrite1h: null };

const rates: Rates = {
  ...NO_RATES,
  ...{ input: 1_000_000, output: 4_000_000, cacheRead: 100_000 },
  tiers: [{ ...NONE, aboveTokens: 1_000, input: 2_000_000, output: 8_000_000 }],
  serviceTiers: {
    priority: { ...NONE, input: 1_700_000, output: 7_000_000, cacheRead: 170_000, tiers: [] },
    flex: {
      ...{ ...NONE, input: 500_000, output: 2_000_000 },
      tiers: [{ ...NONE, aboveTokens: 1_000, input: 900_000, output: 3_000_000 }],
    },
    odd: { ...NONE, input: 500_000, output: 2_000_000, tiers: [] },
  },
};

const row: RateRow = {
  ...{ provider: "openai", model: "m", source: "auto", match: null, effectiveFrom: null },
  ...{ effectiveTo: null, daily: null, provenanceDate: "2026-11-01", rates },
};

const usage = (serviceTier: string | null, change: Partial<UsageToPrice["tokens"]> = {}): UsageToPrice => ({
  ...{ provider: "openai", model: "m", requestedModel: "m", at: Date.UTC(2026, 10, 23), extras: null },
  ...{ serviceTier, providerCostPicoUsd: null, requestKind: "chat" as const },
  tokens: {
    ...{ promptTokens: 100, completionTokens: 10, cacheReadTokens: 0 },
    ...{ cacheWriteTokens: 0, cacheWrite1hTokens: 0, thinkingTokens: 0 },
    ...change,
  },
});

const price = (call: UsageToPrice) => priceUsage(call, createPriceBook([row]));

describe("the stated rates of a service tier", () => {
  it("price its tokens, and thinking as output", () => {
    assert.equal(price(usage(null)).costPicoUsd, 140_000_000n);
    assert.equal(price(usage("priority")).costPicoUsd, 240_000_000n);
    assert.equal(
      price(usage("priority", { cacheReadTokens: 10, thinkingTokens: 1 })).costPicoUsd,
      248_700_000n,
    );
  });

  it("leave a token without one at the standard rate times the factor", () => {
    // OpenAI's flex tier costs half.
    assert.equal(price(usage("flex", { cacheReadTokens: 10 })).costPicoUsd, 70_500_000n);
  });

  it("leave such a token unpriced if the tier has no factor", () => {
    assert.equal(price(usage("odd")).costPicoUsd, 70_000_000n);
    assert.equal(
      price(usage("odd", { cacheReadTokens: 10 })).unpricedReason,
      'no published price for service tier "odd"',
    );
  });

  it("leave tokens of a medium at their own rate times the factor", () => {
    const extras = { audio_input_tokens: 10 };
    const book = createPriceBook([
      { ...row, rates: { ...rates, extras: { audio_input_tokens: 4_000_000 } } },
    ]);
    assert.equal(
      priceUsage({ ...usage("flex"), extras }, book).costPicoUsd,
      45_000_000n + 20_000_000n + 20_000_000n,
    );
    assert.equal(
      priceUsage({ ...usage("odd"), extras }, book).unpricedReason,
      'no published price for service tier "odd"',
    );
  });

  it("apply above a context tier only where they are stated for it", () => {
    assert.equal(price(usage("flex", { promptTokens: 2_000 })).costPicoUsd, 1_830_000_000n);
    assert.equal(
      price(usage("priority", { promptTokens: 2_000 })).unpricedReason,
      'no published price for service tier "priority" in a long context',
    );
  });

  it("do not apply together with a condition whose factor is unknown", () => {
    const call = { ...usage("priority"), extras: { fast_mode: 1 } };
    assert.notEqual(price(call).unpricedReason, null);
  });
});
