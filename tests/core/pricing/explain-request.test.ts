import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import {
  explainRequest,
  formatLineQuantity,
  formatLineRate,
  priceWithoutCache,
} from "../../../core/pricing/explain-request.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { sampleRecord } from "../../daemon/store/sample-records.rig.ts";

const book = createPriceBook(loadBundledRates());
const request = sampleRecord({
  requestedAt: Date.UTC(2026, 8, 1),
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  requestKind: "chat",
  serviceTier: null,
  providerCostPicoUsd: null,
  usageExtras: null,
  tokens: {
    promptTokens: 100,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    cacheWrite1hTokens: null,
    completionTokens: 10,
    thinkingTokens: null,
  },
});

describe("explainRequest()", () => {
  it("agrees only with a stored cost that equals the price book's", () => {
    const { priced } = explainRequest(request, book);
    assert.equal(priced.costPicoUsd, 450_000_000n);
    assert.equal(explainRequest({ ...request, costPicoUsd: 450_000_000n }, book).agrees, true);
    assert.equal(explainRequest({ ...request, costPicoUsd: 1n }, book).agrees, false);
  });

  it("agrees with the figure of an agent's log as long as no rate is known", () => {
    const log = {
      ...request,
      recordSource: "logs" as const,
      costSource: "estimated" as const,
      costPicoUsd: 5n,
    };
    assert.equal(explainRequest({ ...log, model: "no-such-model" }, book).agrees, true);
    assert.equal(explainRequest(log, book).agrees, false);
    assert.equal(explainRequest({ ...log, model: "no-such-model", recordSource: null }, book).agrees, false);
    assert.equal(
      explainRequest({ ...log, model: "no-such-model", costSource: "computed" }, book).agrees,
      false,
    );
  });

  it("describes the rate that applied, with its tier", () => {
    const { rate } = explainRequest(request, book);
    assert.match(rate ?? "", /^anthropic claude-sonnet-4-5, bundled rates of \d{4}-\d\d-\d\d$/);
    const large = { ...request, tokens: { ...request.tokens, promptTokens: 300_000 } };
    assert.match(explainRequest(large, book).rate ?? "", /, above 200000 input tokens$/);
  });

  it("names the price list that the rate was pulled from", () => {
    const origin = { name: "litellm", retrievedOn: "2026-11-23" } as const;
    const pulled = loadBundledRates().map((row) => ({ ...row, source: "auto" as const, origin }));
    assert.match(explainRequest(request, createPriceBook(pulled)).rate ?? "", /, litellm rates of /);
  });

  it("describes no rate for an unknown model", () => {
    assert.equal(explainRequest({ ...request, model: "no-such-model" }, book).rate, null);
  });
});

describe("priceWithoutCache()", () => {
  const cached = {
    ...request,
    tokens: { ...request.tokens, cacheReadTokens: 1_000, cacheWriteTokens: 200, cacheWrite1hTokens: 50 },
  };
  const fresh = (promptTokens: number, usageExtras: Record<string, number> | null = null) => {
    const { computedPicoUsd } = explainRequest(
      { ...request, usageExtras, tokens: { ...request.tokens, promptTokens } },
      book,
    ).priced;
    assert.notEqual(computedPicoUsd, null);
    return computedPicoUsd;
  };

  it("prices tokens of a cache as fresh input", () => {
    assert.equal(priceWithoutCache(cached, book), fresh(1_300));
    assert.equal(priceWithoutCache(cached, book), 1_300n * 3_000_000n + 10n * 15_000_000n);
  });

  it("keeps the context tier of each call, and stores no cache", () => {
    const usageExtras = {
      model_calls: 2,
      above_200k_prompt_tokens: 1_000,
      above_200k_cache_read_tokens: 300_000,
      above_200k_cache_write_tokens: 2_000,
      above_200k_cache_write_1h_tokens: 500,
      above_200k_output_tokens: 5,
      cache_storage_token_hours: 7,
      web_search_requests: 1,
    };
    const tokens = {
      ...cached.tokens,
      ...{ promptTokens: 1_100, cacheReadTokens: 301_000, cacheWriteTokens: 2_100, cacheWrite1hTokens: 500 },
    };
    assert.equal(
      priceWithoutCache({ ...cached, tokens, usageExtras }, book),
      fresh(304_200, {
        model_calls: 2,
        above_200k_prompt_tokens: 303_000,
        above_200k_output_tokens: 5,
        web_search_requests: 1,
      }),
    );
  });

  it("is unknown without a cache, without a count of the input, and without a rate", () => {
    assert.equal(priceWithoutCache(request, book), null);
    const unknown = { ...cached, tokens: { ...cached.tokens, promptTokens: null } };
    assert.equal(priceWithoutCache(unknown, book), null);
    assert.equal(priceWithoutCache({ ...cached, model: "no-such-model" }, book), null);
    const written = { ...request, tokens: { ...request.tokens, cacheWriteTokens: 200 } };
    assert.equal(priceWithoutCache(written, book), fresh(300));
  });
});

describe("formatLineQuantity() and formatLineRate()", () => {
  const line = {
    label: "input",
    quantity: 1_234_567,
    rate: 3_000_000,
    listRate: 3_000_000,
    perUnit: 1,
    costPicoUsd: 0n,
  };

  for (const [name, given, quantity, rate] of [
    ["tokens per million", {}, "1,234,567", "$3.00 / M"],
    ["items one by one", { label: "web search", quantity: 3, rate: 10_000_000_000 }, "3", "$0.01 each"],
    [
      "time per hour",
      { label: "session time", quantity: 1000, perUnit: 3_600_000, rate: 80_000_000_000 },
      "1,000 ms",
      "$0.08 an hour",
    ],
  ] as const)
    it(`show ${name}`, () => {
      const each = { ...line, ...given };
      assert.equal(formatLineQuantity(each), quantity);
      assert.equal(formatLineRate(each, each.rate), rate);
    });
});
