import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates, loadSourceRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { FALLBACK_PRICE_LISTS, listsFor } from "../../../core/pricing/provider-names.ts";

const rows = loadBundledRates();
const book = createPriceBook(rows);
const NOVEMBER = "2026-11-23T12:00:00Z";

const price = (provider: string, model: string, at = NOVEMBER) => {
  const row = book.find({ provider, model, requestedModel: null, at: Date.parse(at) });
  return row === null ? null : [row.rates.input, row.rates.output, row.rates.cacheRead];
};

describe("the prices that we state ourselves", () => {
  it("correct what the source has wrong, and add what it lacks", () => {
    const expected: [string, string, (number | null)[]][] = [
      ["codex", "gpt-6.1-sol", [2_000_000, 10_000_000, 100_000]],
      ["openai", "gpt-6.1-sol-2026-09-29", [2_000_000, 10_000_000, 100_000]],
      ["openai", "babbage-002", [400_000, 400_000, null]],
      ["openai", "davinci-002", [2_000_000, 2_000_000, null]],
      ["mistral", "mistral-large-latest", [500_000, 1_500_000, 50_000]],
      ["mistral", "mistral-large-2411", [2_000_000, 6_000_000, null]],
      ["bedrock", "amazon.titan-embed-text-v2:0", [20_000, null, null]],
      ["bedrock", "amazon.titan-embed-text-v1", [100_000, null, null]],
      ["groq", "openai/gpt-oss-safeguard-20b", [75_000, 300_000, 37_500]],
      ["azure", "Phi-4", [125_000, 500_000, null]],
      ["azure", "deepseek-v4-pro", [1_740_000, 3_480_000, null]],
      ["azure", "gpt-oss-120b", [150_000, 600_000, null]],
      ["azure", "grok-3-mini", [250_000, 1_270_000, null]],
      ["cohere", "rerank-v4.0-pro", [0, 0, null]],
      ["xai", "grok-4.20-0309-reasoning", [1_250_000, 2_500_000, 200_000]],
      ["gemini", "gemini-pro-latest", [2_000_000, 12_000_000, 200_000]],
      ["vertex", "publishers/deepseek-ai/models/deepseek-v3.1-maas", [600_000, 1_700_000, null]],
      ["mistral", "mistral-small-latest", [150_000, 600_000, 15_000]],
      ["bedrock", "eu.amazon.nova-pro-v1:0", [1_050_000, 4_200_000, 262_500]],
      ["bedrock", "us-gov.anthropic.claude-haiku-4-5-20251001-v1:0", [1_200_000, 6_000_000, 120_000]],
      ["opencode", "gpt-5.1-codex", [1_070_000, 8_500_000, 107_000]],
      ["together", "Qwen/Qwen3-235B-A22B-Instruct-2507-tput", [200_000, 600_000, null]],
      ["deepseek", "deepseek-chat", [140_000, 280_000, 2_800]],
      ["deepseek", "deepseek-reasoner", [140_000, 280_000, 2_800]],
      ["deepseek", "deepseek-flash", [150_000, 600_000, 3_000]],
    ];
    for (const [provider, model, rates] of expected)
      assert.deepEqual(price(provider, model), rates, `${provider} ${model}`);
  });

  it("price DeepSeek by day and hour: no peak before its first day, on a weekend or between the periods", () => {
    const inputs: [string, number][] = [
      ["2026-04-23T12:00:00Z", 280_000],
      ["2026-04-24T12:00:00Z", 140_000],
    ];
    for (const [at, input] of inputs) assert.equal(price("deepseek", "deepseek-chat", at)?.[0], input, at);
    const peaks: [string, number][] = [
      ["2026-08-14T02:00:00Z", 435_000],
      ["2026-08-17T02:00:00Z", 1_320_000],
      ["2026-08-17T05:00:00Z", 660_000],
      ["2026-08-17T09:59:59Z", 1_320_000],
      ["2026-08-17T10:00:00Z", 660_000],
      ["2026-08-22T02:00:00Z", 660_000],
      ["2026-08-23T07:00:00Z", 660_000],
    ];
    for (const [at, input] of peaks) assert.equal(price("deepseek", "deepseek-v4-pro", at)?.[0], input, at);
    assert.equal(price("deepseek", "deepseek-v4-flash", "2026-09-09T02:00:00Z")?.[0], 440_000);
    assert.equal(price("deepseek", "deepseek-v4-flash", "2026-09-10T02:00:00Z")?.[0], 300_000);
  });
});

describe("the supplements", () => {
  it("price common models that the source lacks", () => {
    const models: [string, string][] = [
      ["together", "openai/gpt-oss-120b"],
      ["bedrock", "openai.gpt-oss-120b-1:0"],
      ["bedrock", "moonshotai.kimi-k2.5"],
      ["bedrock", "minimax.minimax-m2"],
      ["bedrock", "zai.glm-5"],
      ["bedrock", "deepseek.v3.2"],
      ["bedrock", "amazon.nova-2-lite-v1:0"],
      ["bedrock", "cohere.command-r-plus-v1:0"],
      ["vertex", "meta/llama-4-scout-17b-16e-instruct-maas"],
      ["vertex", "publishers/mistralai/models/mistral-medium-3"],
      ["azure", "Llama-3.3-70B-Instruct"],
      ["azure", "mistral-large-2411"],
      ["openai", "gpt-5-search-api"],
      ["openai", "chatgpt-image-latest"],
      ["cohere", "rerank-v3.5"],
      ["cohere", "command-a-03-2025"],
      ["alibaba", "qwen-flash"],
      ["deepinfra", "deepseek-ai/DeepSeek-V3.1"],
    ];
    for (const [provider, model] of models)
      assert.notEqual(price(provider, model), null, `${provider} ${model}`);
  });

  it("name their source and its date, and take no name that the bundled source prices", () => {
    const source = createPriceBook(loadSourceRates());
    const supplements = rows.filter(({ origin }) => origin !== undefined);
    assert.ok(supplements.length > 1_000);
    for (const { provider, model, origin, provenanceDate } of supplements) {
      assert.equal((origin?.retrievedOn ?? "") < provenanceDate, true);
      const found = source.find({ provider, model, requestedModel: null, at: Date.parse(NOVEMBER) });
      assert.equal(found, null, `${provider} ${model}`);
    }
  });
});

describe("loadBundledRates() of a provider's lists", () => {
  const providers = [
    ...new Set([...rows.map(({ provider }) => provider), ...Object.keys(FALLBACK_PRICE_LISTS)]),
    ...["bedrock", "codex", "gemini", "vertex", "unknown"],
  ];
  const models = rows.filter((_, index) => index % 7 === 0).map(({ model }) => model);
  const find = (from: typeof book, provider: string, model: string) => {
    const row = from.find({ provider, model, requestedModel: null, at: Date.parse(NOVEMBER) });
    return row && JSON.stringify(row);
  };

  it("prices the provider's models as all rates do", () => {
    for (const provider of providers) {
      const own = createPriceBook(loadBundledRates(new Set(listsFor(provider))));
      for (const model of models)
        assert.equal(find(own, provider, model), find(book, provider, model), `${provider} ${model}`);
    }
  });

  it("prices the models of a gateway from the list that the operator named", () => {
    const lists = { gateway: "azure" };
    const [own, all] = [loadBundledRates(new Set(listsFor("gateway", "azure"))), rows].map((each) =>
      createPriceBook(each, { lists }),
    ) as [typeof book, typeof book];
    assert.notEqual(find(own, "gateway", "gpt-5.1"), null);
    for (const model of models) assert.equal(find(own, "gateway", model), find(all, "gateway", model), model);
  });
});
