import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { explainRequest } from "../../../core/pricing/explain-request.ts";
import { judgePull } from "../../../core/pricing/guard.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import {
  distinctFixes,
  findPriceFix,
  findPublication,
  fixOfExplanation,
  fixOfUnpriced,
} from "../../../core/pricing/price-fix.ts";
import { PRICE_SOURCES, sourcesOf } from "../../../core/pricing/sources/price-sources.ts";
import { publishedRatesSchema } from "../../../core/wire/pricing-rates.ts";
import { sampleRecord } from "../../daemon/store/sample-records.rig.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const never = () => null;
const find = (provider: string, lastPull: (source: string) => number | null, hasRate = false) =>
  findPriceFix({ provider, model: 'm"1', hasRate }, lastPull, NOW);

describe("findPriceFix()", () => {
  it("names the public price list that covers the provider", () => {
    const commands = (provider: string) => find(provider, never)?.commands;
    assert.deepEqual(commands("codex"), ["meter pricing pull --source litellm", "meter recompute-costs"]);
    assert.equal(commands("openrouter")?.[0], "meter pricing pull --source openrouter");
    assert.equal(commands("siliconflow")?.[0], "meter pricing pull --source models.dev");
  });

  it("names the next list if one was pulled in the last day, and any list again after a day", () => {
    const pulled = (age: number) => (source: string) => (source === "litellm" ? NOW - age : null);
    assert.equal(find("openai", pulled(3_600_000))?.commands[0], "meter pricing pull --source models.dev");
    assert.equal(find("openai", pulled(86_400_001))?.commands[0], "meter pricing pull --source litellm");
  });

  it("gives the lines to paste if no list covers the provider, or all were pulled", () => {
    for (const fix of [find("acme", never), find("openai", () => NOW)]) {
      assert.deepEqual(fix?.toml.slice(0, 1), ["[[pricing.operator]]"]);
      assert.ok(fix?.toml.includes('model = "m\\"1"'));
      assert.deepEqual(fix?.commands, ["meter recompute-costs"]);
    }
  });

  it("says why no list can price a system of several models", () => {
    const fix = findPriceFix({ provider: "groq", model: "groq/compound-mini", hasRate: false }, never, NOW);
    assert.match(
      fix?.text ?? "",
      /^groq\/compound-mini is billed by the models that it runs, .* an average price in config\.toml, in USD/,
    );
    assert.deepEqual(fix?.commands, ["meter recompute-costs"]);
  });

  it("returns null if the model has a rate and no list can add what is missing", () => {
    assert.equal(find("acme", never, true), null);
    assert.equal(find("openai", never, true)?.toml.length, 0);
  });
});

describe("fixOfExplanation()", () => {
  const explain = (change: Parameters<typeof sampleRecord>[0]) =>
    fixOfExplanation(explainRequest(sampleRecord(change), createPriceBook(loadBundledRates())), never, NOW);
  const unknown = {
    provider: "acme",
    model: "m",
    requestedModel: null,
    usageExtras: null,
    serviceTier: null,
  };

  it("returns the fix of a request without a price", () => {
    assert.equal(explain(unknown)?.toml[1], 'provider = "acme"');
  });

  it("returns null if the request has a price, or if its tokens are what is missing", () => {
    assert.equal(explain({ model: "claude-sonnet-4-5", serviceTier: null }), null);
    assert.equal(explain({ ...unknown, tokens: { ...sampleRecord().tokens, promptTokens: null } }), null);
  });
});

describe("sourcesOf()", () => {
  it("returns only names of public sources", () => {
    const names = PRICE_SOURCES.map(({ name }) => name);
    for (const list of ["openai", "openrouter", "siliconflow", "acme"])
      assert.ok(sourcesOf(list).every((source) => names.includes(source)));
  });
});

describe("fixOfUnpriced()", () => {
  const fix = (change: Parameters<typeof sampleRecord>[0]) =>
    fixOfUnpriced(
      explainRequest(
        sampleRecord({ requestedModel: null, usageExtras: null, ...change }),
        createPriceBook(loadBundledRates()),
      ),
      never,
      NOW,
    );

  it("only prices the stored requests again if the rates in force have the price", () => {
    const found = fix({ provider: "openai", model: "gpt-4o", serviceTier: null });
    assert.deepEqual([found?.toml, found?.commands], [[], ["meter recompute-costs"]]);
  });

  it("is otherwise the fix of the explanation", () => {
    for (const change of [
      { provider: "openai", model: "no-such-model" },
      { provider: "openai", model: "gpt-4o", serviceTier: "no-such-tier" },
      { provider: "acme", model: "m", tokens: { ...sampleRecord().tokens, promptTokens: null } },
    ]) {
      const record = sampleRecord({ requestedModel: null, usageExtras: null, ...change });
      const explanation = explainRequest(record, createPriceBook(loadBundledRates()));
      assert.deepEqual(fix(change), fixOfExplanation(explanation, never, NOW));
    }
  });
});

describe("findPublication()", () => {
  const models = [
    { provider: "acme", model: 'm"1' },
    { provider: "acme", model: "m2" },
  ];

  it("states one file for all models, which a cloud accepts once the prices are filled in", () => {
    const { json, command } = findPublication(models, NOW);
    const file = json.join("\n").replaceAll("…", "1.5");
    const book = createPriceBook(loadBundledRates());
    const pull = v.parse(publishedRatesSchema, JSON.parse(file));
    const verdict = judgePull(pull, book, NOW);
    assert.ok(verdict.ok);
    assert.deepEqual(
      verdict.rows.map(({ provider, model, rates }) => [provider, model, rates.input, rates.output]),
      models.map(({ provider, model }) => [provider, model, 1_500_000, 1_500_000]),
    );
    assert.equal(command, "meter-cloud rates publish rates.json");
  });

  it("is refused as long as a price is missing", () => {
    const pull = v.parse(publishedRatesSchema, JSON.parse(findPublication(models, NOW).json.join("\n")));
    assert.equal(judgePull(pull, createPriceBook([]), NOW).ok, false);
  });
});

describe("distinctFixes()", () => {
  it("returns each fix once, in order, and leaves out models without one", () => {
    const [one, other] = ["openai", "acme"].map((provider) => find(provider, never));
    assert.notDeepEqual(one, other);
    assert.deepEqual(distinctFixes([one ?? null, null, other ?? null, structuredClone(one) ?? null]), [
      one,
      other,
    ]);
  });
});
