import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { EXTRA_FEES, PRICE_FACTORS, UNPRICED_ABOVE } from "../../../core/pricing/factors.data.ts";
import { applyFactors, findFactors, findFee, normaliseServiceTier } from "../../../core/pricing/factors.ts";
import { matchesRule } from "../../../core/pricing/model-match.ts";
import { FALLBACK_PRICE_LISTS } from "../../../core/pricing/provider-names.ts";

const NOW = Date.UTC(2026, 10, 21);

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
  it("cite an https page for every line, with the date on which it was read", () => {
    for (const { page, readOn, numerator, denominator } of PRICE_FACTORS) {
      assert.match(page, /^https:\/\//);
      assert.ok(readOn === null || /^2026-\d\d-\d\d$/.test(readOn));
      assert.ok(
        Number.isSafeInteger(numerator) && Number.isSafeInteger(denominator) && numerator * denominator > 0,
      );
    }
  });

  it("refer to models in the bundled list", () => {
    const rows = loadBundledRates();
    for (const { provider, models } of PRICE_FACTORS) {
      const lists = [provider, ...(FALLBACK_PRICE_LISTS[provider] ?? [])];
      const listed = rows.filter((row) => lists.includes(row.provider));
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
    ["anthropic", "claude-opus-5-5", "standard", "fast_mode", "8", "40"],
    ["anthropic", "claude-opus-4-7", "standard", "fast_mode", "30", "150"],
    ["anthropic", "claude-opus-4-8", "batch", null, "2.5", "12.5"],
    ["google", "gemini-2.5-flash", "flex", null, "0.15", "1.25"],
    ["aws", "amazon.nova-2-lite-v1:0", "flex", null, "0.15", "1.25"],
    ["aws", "amazon.nova-2-lite-v1:0", "priority", null, "0.525", "4.375"],
    ["aws", "openai.gpt-oss-120b-1:0", "flex", null, "0.075", "0.3"],
  ];
  for (const [provider, model, tier, flag, input, output] of published) {
    it(`price ${provider} ${model} ${flag ?? tier} at ${input} / ${output} USD`, () => {
      const row = loadBundledRates().find(
        (candidate) => candidate.provider === provider && candidate.model === model,
      );
      const extras = flag === null ? null : { [flag]: 1 };
      const { factors, unknown } = findFactors(provider, [model], tier, extras, false, NOW);
      assert.equal(unknown, null);
      assert.equal(applyFactors(row!.rates.input!, factors), Number(input) * 1e6);
      assert.equal(applyFactors(row!.rates.output!, factors), Number(output) * 1e6);
    });
  }
});

describe("findFactors()", () => {
  it("finds no factor and no unknown condition for the standard tier", () => {
    assert.deepEqual(findFactors("openai", ["gpt-5"], "default", { fast_mode: 0 }, false, NOW), {
      factors: [],
      unknown: null,
    });
  });

  it("multiplies the factors of a tier and a mode of inference", () => {
    const { factors } = findFactors("anthropic", ["claude-opus-5"], "batch", { us_inference: 1 }, false, NOW);
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
    ["anthropic", "claude-sonnet-5", null, "fast_mode", false, /fast mode/],
    ["aws", "amazon.nova-lite-v1:0", null, "regional_endpoint", false, /regional endpoint/],
  ];
  for (const [provider, model, tier, flag, inTier, reason] of unknowns) {
    it(`returns an unknown condition for ${provider} ${model} ${tier ?? flag}${inTier ? " in a context tier" : ""}`, () => {
      assert.match(findFactors(provider, [model], tier, { [flag]: 1 }, inTier, NOW).unknown ?? "", reason);
    });
  }

  const regional: [model: string, at: number, input: number][] = [
    ["claude-opus-4-6", NOW, 1_100_000],
    ["claude-haiku-4-5", NOW, 1_100_000],
    ["claude-4-sonnet", NOW, 1_000_000],
    ["gemini-3.5-flash", NOW, 1_100_000],
    ["gemini-3.5-flash", Date.UTC(2026, 6, 1), 1_100_000],
    ["gemini-3.5-flash", Date.UTC(2026, 6, 1) - 1, 1_000_000],
    ["gemini-2.5-pro", NOW, 1_000_000],
  ];
  for (const [model, at, input] of regional)
    it(`prices ${model} on a regional endpoint on ${new Date(at).toISOString()}`, () => {
      const { factors, unknown } = findFactors("google", [model], null, { regional_endpoint: 1 }, false, at);
      assert.equal(unknown, null);
      assert.equal(applyFactors(1_000_000, factors), input);
    });

  const residency: [model: string, input: number][] = [
    ["gpt-5.4", 1_100_000],
    ["gpt-5.4-mini", 1_100_000],
    ["gpt-5.6-sol", 1_100_000],
    ["gpt-image-2", 1_100_000],
    ["gpt-realtime-2", 1_100_000],
    ["a-model-of-next-year", 1_100_000],
    ["gpt-5", 1_000_000],
    ["gpt-5-mini", 1_000_000],
    ["gpt-5.3-codex", 1_000_000],
    ["gpt-4o-mini", 1_000_000],
    ["o4-mini", 1_000_000],
    ["text-embedding-3-small", 1_000_000],
    ["gpt-realtime", 1_000_000],
  ];
  for (const [model, input] of residency)
    it(`prices ${model} on one of OpenAI's regional hosts`, () => {
      const { factors, unknown } = findFactors("openai", [model], null, { regional_endpoint: 1 }, false, NOW);
      assert.equal(unknown, null);
      assert.equal(applyFactors(1_000_000, factors), input);
    });
});

describe("findFactors() for Together's regional hosts", () => {
  it("adds a quarter to every token rate", () => {
    const { factors } = findFactors("together", ["any"], null, { regional_endpoint: 1 }, false, NOW);
    assert.equal(applyFactors(1_000_000, factors), 1_250_000);
  });
});

describe("UNPRICED_ABOVE", () => {
  it("cites a page for every limit, and refers to models in the bundled list", () => {
    const rows = loadBundledRates();
    for (const { provider, models, page } of UNPRICED_ABOVE) {
      assert.match(page, /^https:\/\//);
      assert.ok(
        rows.some((row) => row.provider === provider && matchesRule(models, row.model.toLowerCase())),
      );
    }
  });
});

describe("findFee()", () => {
  it("returns the fees of Google's searches by the model's generation", () => {
    assert.equal(findFee("google", ["gemini-3-flash-preview"], "web_search_requests"), 14_000_000_000);
    assert.equal(findFee("google", ["gemini-2.5-pro"], "web_search_requests"), 35_000_000_000);
    assert.equal(findFee("google", ["gemma-3"], "web_search_requests"), null);
    assert.equal(findFee("google", ["gemini-2.5-pro"], "search_units"), null);
    assert.equal(findFee("groq", ["gemini-2.5-pro"], "web_search_requests"), null);
  });

  it("returns the fees of OpenAI's tools for every model", () => {
    assert.equal(findFee("openai", ["gpt-5.3-codex"], "web_search_requests"), 10_000_000_000);
    assert.equal(findFee("openai", ["o3"], "file_search_requests"), 2_500_000_000);
    assert.equal(findFee("openai", ["o3"], "search_units"), null);
  });

  it("cites a page for every fee, and refers to models in the bundled list", () => {
    const rows = loadBundledRates();
    for (const { provider, models, rate, page } of EXTRA_FEES) {
      assert.match(page, /^https:\/\//);
      assert.ok(Number.isSafeInteger(rate) && rate > 0);
      const names = rows.filter((row) => row.provider === provider).map((row) => row.model.toLowerCase());
      assert.ok(names.some((name) => matchesRule(models, name)));
    }
  });
});
