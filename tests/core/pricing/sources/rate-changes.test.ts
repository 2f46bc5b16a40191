import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_RATES, type RateRow } from "../../../../core/pricing/rates.ts";
import { parsePriceList } from "../../../../core/pricing/sources/parse-price-list.ts";
import { changedFields } from "../../../../core/pricing/sources/rate-changes.ts";

const row = (rates: Partial<RateRow["rates"]>): RateRow => ({
  ...{ provider: "openai", model: "m", source: "auto", match: null, effectiveFrom: null },
  ...{ effectiveTo: null, daily: null, provenanceDate: "2026-11-01" },
  rates: { ...NO_RATES, ...rates },
});

describe("changedFields()", () => {
  it("lists added, changed and removed rates", () => {
    const before = row({ input: 1, output: 2, cacheRead: 3 });
    assert.deepEqual(
      changedFields(before, row({ input: 1, output: 4, thinking: 5 })).map(({ field, from, to }) => [
        field,
        from,
        to,
      ]),
      [
        ["output", 2, 4],
        ["cache read", 3, null],
        ["thinking", null, 5],
      ],
    );
  });
});

describe("several context tiers of a list", () => {
  it("are in ascending order, each with the rates of the one below where it states none", () => {
    const pricing = { prompt: "0.000001", completion: "0.000002" };
    const overrides = [
      { min_prompt_tokens: 256_000, prompt: "0.000004" },
      { min_prompt_tokens: 32_000, prompt: "0.000002", completion: "0.000003" },
    ];
    const text = JSON.stringify({ data: [{ id: "m", pricing: { ...pricing, overrides } }] });
    const parsed = parsePriceList(text, "openrouter");
    assert.deepEqual(
      parsed.ok &&
        parsed.rates[0]?.tiers?.map(({ above_tokens, input, output }) => [above_tokens, input, output]),
      [
        [32_000, "2", "3"],
        [256_000, "4", "3"],
      ],
    );
  });
});
