import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { readPublishedRate, toPublishedRate } from "../../../core/pricing/published-rates.ts";
import { NO_RATES } from "../../../core/pricing/rates.ts";

describe("readPublishedRate()", () => {
  it("reads the output of toPublishedRate(), except what published rates omit", () => {
    // Planted: two fields swapped in one direction; seen to fail.
    for (const row of loadBundledRates()) {
      const read = readPublishedRate(toPublishedRate(row), "operator", "2026-01-01");
      const { thinking, perRequest, extras } = NO_RATES;
      assert.deepEqual(read.ok ? read.row : read.problems, {
        ...row,
        source: "operator",
        match: null,
        daily: null,
        provenanceDate: "2026-01-01",
        rates: { ...row.rates, thinking, perRequest, extras },
      });
    }
  });

  it("requires tiers in ascending order", () => {
    const rates = { input: "1", output: "2", cache_read: null, cache_write: null };
    const tiers = [20, 10].map((above_tokens) => ({ ...rates, above_tokens }));
    const read = readPublishedRate({ provider: "a", model: "b", ...rates, tiers }, "operator", "2026-01-01");
    assert.deepEqual(read.ok ? null : read.problems.map(({ problem }) => problem), [
      "above_tokens must be whole and ascending: current value is 10",
    ]);
  });
});
