import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../core/pricing/price-usage.ts";
import { NO_RATES, type RateRow } from "../../../core/pricing/rates.ts";
import type { UsageToPrice } from "../../../core/pricing/usage-to-price.ts";

const call = (change: Partial<UsageToPrice>): UsageToPrice => ({
  ...{ provider: "ollama", model: "qwen3:8b", requestedModel: null, at: Date.UTC(2026, 10, 23) },
  tokens: {
    ...{ promptTokens: 10, cacheReadTokens: null, cacheWriteTokens: null },
    ...{ cacheWrite1hTokens: null, completionTokens: null, thinkingTokens: null },
  },
  ...{ extras: null, serviceTier: null, providerCostPicoUsd: null, requestKind: "chat" as const },
  ...change,
});

const costOf = (change: Partial<UsageToPrice>, rows: readonly RateRow[] = loadBundledRates()) => {
  const { costPicoUsd, costSource } = priceUsage(call(change), createPriceBook(rows));
  return [costPicoUsd, costSource];
};

describe("a call that is free by nature", () => {
  it("costs 0 on a server of this machine, even without a count", () => {
    assert.deepEqual(costOf({ billingMode: "free" }), [0n, "computed"]);
    assert.deepEqual(costOf({ billingMode: "free", provider: "lmstudio" }), [0n, "computed"]);
  });

  it("is unpriced if it is not known to be free, or if Ollama ran the model on its cloud", () => {
    for (const billingMode of ["unknown", "plan", null] as const)
      assert.deepEqual(costOf({ billingMode }), [null, "unpriced"]);
    for (const model of ["gpt-oss:120b-cloud", "glm-4.6:cloud"])
      assert.deepEqual(costOf({ billingMode: "free", model }), [null, "unpriced"]);
  });

  it("costs what the operator states for the server", () => {
    const row: RateRow = {
      ...{ provider: "ollama", model: "qwen3:8b", source: "operator", match: null, effectiveFrom: null },
      ...{ effectiveTo: null, daily: null, provenanceDate: "2026-11-01" },
      rates: { ...NO_RATES, input: 1_000_000, output: 1_000_000 },
    };
    const tokens = { ...call({}).tokens, completionTokens: 0 };
    assert.deepEqual(costOf({ billingMode: "free", tokens }, [row]), [10_000_000n, "computed"]);
  });

  it("costs 0 for a free variant of OpenRouter, unless it used what is billed besides tokens", () => {
    const free = { provider: "openrouter", model: "acme/new-model:free" };
    assert.deepEqual(costOf(free), [0n, "computed"]);
    assert.deepEqual(costOf({ ...free, model: "acme/new-model", requestedModel: free.model }), [
      0n,
      "computed",
    ]);
    // The bundled list has this model, without any rate.
    assert.deepEqual(costOf({ ...free, model: "meta-llama/llama-3.3-70b-instruct:free" }), [0n, "computed"]);
    assert.deepEqual(costOf({ ...free, extras: { web_search_requests: 1 } }), [null, "unpriced"]);
    assert.deepEqual(costOf({ ...free, extras: { web_search_requests: 0, of_the_future: 3 } }), [
      0n,
      "computed",
    ]);
    assert.deepEqual(costOf({ ...free, provider: "acme" }), [null, "unpriced"]);
  });
});
