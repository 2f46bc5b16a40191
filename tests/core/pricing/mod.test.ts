import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { formatUsd } from "../../../core/pricing/money.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../core/pricing/price-usage.ts";

describe("core/pricing", () => {
  it("prices the example of its documentation", () => {
    const book = createPriceBook(loadBundledRates());
    const priced = priceUsage(
      {
        provider: "anthropic",
        model: "claude-haiku-4-5-20251001",
        requestedModel: "claude-haiku-4-5",
        at: Date.UTC(2026, 10, 21),
        tokens: {
          promptTokens: 1_000,
          cacheReadTokens: 20_000,
          cacheWriteTokens: 0,
          cacheWrite1hTokens: null,
          completionTokens: 400,
          thinkingTokens: null,
        },
        extras: null,
        serviceTier: "standard",
        providerCostPicoUsd: null,
        requestKind: "chat",
      },
      book,
    );
    assert.equal(priced.costPicoUsd, 5_000_000_000n);
    assert.equal(formatUsd(priced.costPicoUsd), "$0.005");
  });
});
