import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderRates } from "../../../../cli/commands/pricing/render-rates.ts";
import { NO_RATES, type RateRow } from "../../../../core/pricing/rates.ts";

const row = (model: string, tiers: RateRow["rates"]["tiers"] = []): RateRow => ({
  ...{ provider: "anthropic", model, source: "bundled", match: null, provenanceDate: "2026-09-23" },
  ...{ effectiveFrom: null, effectiveTo: null, daily: null },
  rates: { ...NO_RATES, input: 3_000_000, output: 15_000_000, cacheRead: 300_000, tiers },
});

const tier = { ...NO_RATES, aboveTokens: 200_000, input: 6_000_000, output: 22_500_000 };

describe("renderRates()", () => {
  it("prints a table with its unit if it fits", () => {
    assert.equal(
      renderRates([row("claude-a", [tier])], 100),
      [
        "provider   model                         input  output  cache read  cache write  source",
        "─────────  ────────────────────────────  ─────  ──────  ──────────  ───────────  ───────",
        "anthropic  claude-a                          3      15         0.3            –  bundled",
        "             above 200,000 input tokens      6    22.5           –            –",
        "",
        "USD per million tokens.",
      ].join("\n"),
    );
  });

  it("prints a block per model if a name would be truncated", () => {
    assert.equal(
      renderRates([row("claude-a", [tier])], 60),
      [
        "In USD per million tokens:",
        "anthropic  claude-a  (bundled)",
        "  input 3, output 15, cache read 0.3, cache write –",
        "  above 200,000 input tokens: input 6, output 22.5, cache read –, cache write –",
      ].join("\n"),
    );
  });
});
