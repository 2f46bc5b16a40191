import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PRICE_FACTORS } from "../../../core/pricing/factors.data.ts";
import { applyFactors, findFactors, normaliseServiceTier } from "../../../core/pricing/factors.ts";
import { loadBundledRates } from "../../../core/pricing/mod.ts";
import { matchesRule } from "../../../core/pricing/model-match.ts";

describe("normaliseServiceTier()", () => {
  const cases: [said: string | null, tier: string | null][] = [
    [null, null],
    ["", null],
    ["auto", null],
    ["default", null],
    ["standard", null],
    ["STANDARD", null],
    ["on_demand", null],
    ["ON_DEMAND", null],
    ["SERVICE_TIER_UNSPECIFIED", null],
    ["SERVICE_TIER_FLEX", "flex"],
    ["ON_DEMAND_PRIORITY", "priority"],
    ["fast", "priority"],
    ["batch", "batch"],
    ["PROVISIONED_THROUGHPUT", "provisioned_throughput"],
    ["constructor", "constructor"],
  ];
  for (const [said, tier] of cases) {
    it(`reads ${said} as ${tier}`, () => assert.equal(normaliseServiceTier(said), tier));
  }
});

describe("PRICE_FACTORS", () => {
  it("cites a page over https for every line, with the date on which it was read", () => {
    for (const { page, readOn, numerator, denominator } of PRICE_FACTORS) {
      assert.match(page, /^https:\/\//);
      assert.ok(readOn === null || /^2026-\d\d-\d\d$/.test(readOn));
      assert.ok(
        Number.isSafeInteger(numerator) && Number.isSafeInteger(denominator) && numerator * denominator > 0,
      );
    }
  });

  it("is for models that the bundled list has", () => {
    const rows = loadBundledRates();
    for (const { provider, models } of PRICE_FACTORS) {
      const listed = rows.filter((row) => row.provider === provider);
      const rules = models === null ? ["^"] : typeof models === "string" ? [models] : models;
      for (const rule of rules) {
        assert.ok(
          listed.some((row) => matchesRule(rule, row.model.toLowerCase())),
          `${provider} ${rule}`,
        );
      }
    }
  });

  /** The published prices beside the standard ones that the bundled list has, in USD per million tokens. */
  const published: [
    provider: string,
    model: string,
    tier: string,
    flag: string | null,
    input: string,
    output: string,
  ][] = [
    ["openai", "gpt-5.5", "priority", null, "12.5", "75"],
    ["openai", "gpt-5.4", "priority", null, "5", "30"],
    ["openai", "gpt-5.4-mini", "priority", null, "1.5", "9"],
    ["openai", "gpt-5.2", "priority", null, "3.5", "28"],
    ["openai", "gpt-5.1", "priority", null, "2.5", "20"],
    ["openai", "gpt-5", "priority", null, "2.5", "20"],
    ["openai", "gpt-5-mini", "priority", null, "0.45", "3.6"],
    ["openai", "gpt-4.1", "priority", null, "3.5", "14"],
    ["openai", "gpt-5", "flex", null, "0.625", "5"],
    ["anthropic", "claude-opus-5", "standard", "fast_mode", "10", "50"],
    ["anthropic", "claude-opus-4-8", "standard", "fast_mode", "10", "50"],
    ["anthropic", "claude-opus-4-7", "standard", "fast_mode", "30", "150"],
    ["anthropic", "claude-opus-4-8", "batch", null, "2.5", "12.5"],
    ["google", "gemini-2.5-flash", "flex", null, "0.15", "1.25"],
  ];
  for (const [provider, model, tier, flag, input, output] of published) {
    it(`makes ${provider} ${model} ${flag ?? tier} ${input} / ${output} USD`, () => {
      const row = loadBundledRates().find(
        (candidate) => candidate.provider === provider && candidate.model === model,
      );
      const extras = flag === null ? null : { [flag]: 1 };
      const { factors, unknown } = findFactors(provider, [model], tier, extras, false);
      assert.equal(unknown, null);
      assert.equal(applyFactors(row!.rates.input!, factors), Number(input) * 1e6);
      assert.equal(applyFactors(row!.rates.output!, factors), Number(output) * 1e6);
    });
  }
});

describe("findFactors()", () => {
  it("finds none, and misses none, for the standard tier", () => {
    assert.deepEqual(findFactors("openai", ["gpt-5"], "default", { fast_mode: 0 }, false), {
      factors: [],
      unknown: null,
    });
  });

  it("multiplies a tier with a mode of inference", () => {
    const { factors } = findFactors("anthropic", ["claude-opus-5"], "batch", { us_inference: 1 }, false);
    assert.equal(applyFactors(5_000_000, factors), 2_750_000);
  });

  const unknowns: [
    provider: string,
    model: string,
    tier: string | null,
    flag: string,
    inTier: boolean,
    reason: RegExp,
  ][] = [
    ["anthropic", "claude-opus-5", "priority", "", false, /service tier "priority"/],
    ["google", "gemini-2.5-pro", "priority", "", false, /service tier "priority"/],
    [
      "google",
      "gemini-2.5-pro",
      "PROVISIONED_THROUGHPUT",
      "",
      false,
      /service tier "provisioned_throughput"/,
    ],
    ["openai", "gpt-5.4", "priority", "", true, /service tier "priority" in a long context/],
    ["openai", "gpt-5.6-sol", "priority", "", false, /service tier "priority"/],
    ["azure", "gpt-5", "priority", "", false, /service tier "priority"/],
    ["anthropic", "claude-opus-5-5", null, "fast_mode", false, /fast mode/],
  ];
  for (const [provider, model, tier, flag, inTier, reason] of unknowns) {
    it(`knows no price for ${provider} ${model} ${tier ?? flag}${inTier ? " in a context tier" : ""}`, () => {
      assert.match(findFactors(provider, [model], tier, { [flag]: 1 }, inTier).unknown ?? "", reason);
    });
  }
});
