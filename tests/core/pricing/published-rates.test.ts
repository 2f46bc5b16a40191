import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { readPublishedRate, toPublishedRate } from "../../../core/pricing/published-rates.ts";

describe("readPublishedRate()", () => {
  it("reads the output of toPublishedRate()", () => {
    // Seen to fail with two fields exchanged in one direction.
    for (const row of loadBundledRates()) {
      const { origin: _, ...stated } = row;
      const read = readPublishedRate(toPublishedRate(row), "operator", "2026-01-01");
      assert.deepEqual(read.ok ? read.row : read.problems, {
        ...stated,
        source: "operator",
        match: null,
        provenanceDate: "2026-01-01",
      });
    }
  });

  it("reads service tiers and daily periods, ignores unknown extras, and reports what is wrong", () => {
    const rates = { input: "1", output: "2", cache_read: null, cache_write: null };
    const item = {
      ...{ provider: "a", model: "b", ...rates, effective_from: null, tiers: [] },
      service_tiers: { flex: { ...rates, cache_write_1h: null, tiers: [] } },
      daily: { from: "00:30:00", to: "16:30:59" },
    };
    const read = readPublishedRate(
      { ...item, extras: { of_the_future: "1", fast_mode: "1" } },
      "auto",
      "2026-01-01",
    );
    assert.ok(read.ok);
    assert.deepEqual(toPublishedRate(read.row), { ...item, cache_write_1h: null });
    const problemsOf = (change: object) => {
      const bad = readPublishedRate({ ...item, ...change }, "auto", "2026-01-01");
      return bad.ok ? [] : bad.problems.map(({ field, problem }) => `${field} ${problem}`);
    };
    for (const daily of [
      { from: "24:00:00", to: "01:00:00" },
      { from: "01:00:00", to: "01:00:00" },
    ])
      assert.deepEqual(problemsOf({ daily }), ["daily must be two different times HH:MM:SS"]);
    assert.deepEqual(problemsOf({ service_tiers: { FLEX: rates } }), [
      "service_tiers must have names in lower case",
    ]);
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
