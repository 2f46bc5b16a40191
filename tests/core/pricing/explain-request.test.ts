import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { explainRequest, formatLineQuantity, formatLineRate } from "../../../core/pricing/explain-request.ts";
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
    ["tokens per million", {}, "1,234,567", "$3 / M"],
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
