import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { comparisonQuerySchema, modelComparisonSchema } from "../../../core/wire/model-comparison.ts";
import { parseWire } from "../../../core/wire/parse.ts";

describe("the query of a comparison with another model", () => {
  it("names the model, and leaves the rest of the usage query to its defaults", () => {
    const parsed = parseWire(comparisonQuerySchema, { as: "anthropic/claude-haiku-4-5", period: "30d" });
    assert.ok(parsed.ok);
    assert.deepEqual(
      [parsed.value.as, parsed.value.period, parsed.value.tz],
      ["anthropic/claude-haiku-4-5", "30d", null],
    );
    assert.equal(parseWire(comparisonQuerySchema, { period: "30d" }).ok, false);
  });
});

describe("the answer of a comparison with another model", () => {
  const parse = (compared: object) =>
    parseWire(modelComparisonSchema, {
      query: "period=30d",
      tz: "UTC",
      period: { from: "2026-10-22T00:00:00.000Z", to: "2026-11-21T00:00:00.000Z", label: "Last 30 days" },
      as: { provider: "anthropic", model: "claude-haiku-4-5", input: "1", output: "5", source: "bundled" },
      models: [],
      compared,
    });

  it("has whole pico-USD beyond a double's integers, and null for a rate that is not known", () => {
    const sums = { models: 0, cost_pico_usd: "18446744073709551617", estimate_pico_usd: "-1" };
    const parsed = parse(sums);
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.value.compared, sums);
    assert.deepEqual([parsed.value.as.cache_read, parsed.value.as.since], [null, null]);
  });

  it("refuses an amount that is not a whole number", () => {
    assert.equal(parse({ models: 0, cost_pico_usd: "1.5", estimate_pico_usd: "0" }).ok, false);
  });
});
