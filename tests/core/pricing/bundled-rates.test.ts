import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { calcPrice, type MatchLogic, type Provider } from "@pydantic/genai-prices";
import { BUNDLED_RATES_DATE, ROUNDED_RATES } from "../../../core/pricing/bundled-rates.data.ts";
import { loadSourceRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../core/pricing/price-usage.ts";
import { FALLBACK_PRICE_LISTS } from "../../../core/pricing/provider-names.ts";
import type { UsageToPrice } from "../../../core/pricing/usage-to-price.ts";
import {
  convertMatch,
  installedProviders,
  installedVersion,
  RATES_FILE,
  ratesFile,
} from "../../../tools/generate-rates.ts";

const providers = await installedProviders();
const rows = loadSourceRates();
const book = createPriceBook(rows);
const NOVEMBER = Date.UTC(2026, 10, 21, 12);

/** Every literal in a match clause, and what a snapshot of it may be called. */
function namesOf(match: MatchLogic): string[] {
  if ("or" in match) return match.or.flatMap(namesOf);
  if ("and" in match) return match.and.flatMap(namesOf);
  if ("equals" in match) return [match.equals, `${match.equals}-20250929`, match.equals.toUpperCase()];
  if ("starts_with" in match)
    return ["", "-20250929", "-2025-09-29", "-tts", "x"].map((tail) => match.starts_with + tail);
  if ("ends_with" in match) return [match.ends_with, `x-${match.ends_with}`];
  if ("contains" in match) return [match.contains, `x${match.contains}x`, `eu.${match.contains}-v1:0`];
  return [match.regex.replace(/\\d\{(\d)\}/g, (_, digits) => "2".repeat(digits)).replace(/[\\^$]/g, "")];
}

function usageOf(provider: string, model: string, at: number, counts: readonly number[]): UsageToPrice {
  const [prompt = 0, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0, completion = 0, thinking = 0] = counts;
  return {
    provider,
    model,
    requestedModel: null,
    at,
    tokens: {
      promptTokens: prompt,
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite,
      cacheWrite1hTokens: cacheWrite1h,
      completionTokens: completion,
      thinkingTokens: thinking,
    },
    extras: null,
    serviceTier: null,
    providerCostPicoUsd: null,
    requestKind: "chat",
  };
}

/** The same usage in the words of the source, whose totals include their parts, priced by its own calculator. */
function referencePicoUsd(usage: UsageToPrice): bigint {
  const {
    promptTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    completionTokens,
    thinkingTokens,
  } = usage.tokens;
  const price = calcPrice(
    {
      input_tokens: promptTokens! + cacheReadTokens! + cacheWriteTokens!,
      cache_read_tokens: cacheReadTokens!,
      cache_write_tokens: cacheWriteTokens!,
      cache_write_1h_tokens: cacheWrite1hTokens!,
      output_tokens: completionTokens! + thinkingTokens!,
      output_reasoning_tokens: thinkingTokens!,
    },
    usage.model,
    { providerId: usage.provider, timestamp: new Date(usage.at) },
  );
  return BigInt(Math.round(price!.total_price * 1e12));
}

describe("bundled-rates.data.ts", () => {
  it("matches the generator's output for the installed source (else run: npm run rates:generate)", () => {
    assert.equal(
      readFileSync(RATES_FILE, "utf8") === ratesFile(providers, installedVersion(), BUNDLED_RATES_DATE),
      true,
    );
  });

  it("begins the tiers of OpenAI's models above 272,000 tokens, and prices the audio of the GPT-4o models", () => {
    assert.deepEqual(
      rows.filter(({ rates }) => rates.tiers.some(({ aboveTokens }) => aboveTokens === 271_999)),
      [],
    );
    const extrasOf = (model: string) =>
      rows.find((row) => row.provider === "openai" && row.model === model)?.rates.extras;
    assert.deepEqual(extrasOf("gpt-4o-audio-preview"), {
      audio_input_tokens: 40_000_000,
      audio_output_tokens: 80_000_000,
    });
    assert.deepEqual(extrasOf("gpt-4o-mini-audio-preview"), {
      audio_input_tokens: 10_000_000,
      audio_output_tokens: 20_000_000,
    });
  });

  it("names the rates that had to be rounded", () => {
    assert.equal(ROUNDED_RATES.length, 7);
    assert.ok(ROUNDED_RATES.every((line) => / USD became \d+ micro-USD$/.test(line)));
  });

  it("has whole rates from zero up, in ascending tiers", () => {
    for (const { rates } of rows) {
      const numbers = [
        ...[rates, ...rates.tiers].flatMap((r) => [
          r.input,
          r.output,
          r.cacheRead,
          r.cacheWrite,
          r.cacheWrite1h,
        ]),
        ...Object.values(rates.extras),
        rates.thinking,
        rates.perRequest,
      ].filter((rate) => rate !== null);
      assert.ok(numbers.every((rate) => Number.isSafeInteger(rate) && rate >= 0));
    }
  });
});

describe("FALLBACK_PRICE_LISTS", () => {
  it("matches the source", () => {
    const theirs = providers.flatMap(({ id, fallback_model_providers: lists }: Provider) =>
      lists ? [[id, lists]] : [],
    );
    const ours = ["github-copilot", "opencode", "cloudflare-ai-gateway"];
    const sources = Object.entries(FALLBACK_PRICE_LISTS).filter(([name]) => !ours.includes(name));
    assert.deepEqual(Object.fromEntries(sources), Object.fromEntries(theirs));
  });
});

describe("the price lists of gateways", () => {
  it("are their makers' where the gateway names models as they do", () => {
    const find = (provider: string, model: string) =>
      book.find({ provider, model, requestedModel: null, at: Date.UTC(2026, 10, 21) })?.provider;
    assert.equal(find("github-copilot", "claude-sonnet-4.5"), "anthropic");
    assert.equal(find("opencode-go", "gemini-2.5-pro"), "google");
    assert.equal(find("cloudflare-ai-gateway", "claude-haiku-4-5-20251001"), "anthropic");
    assert.equal(find("cloudflare-workers-ai", "@cf/meta/llama-3.1-8b-instruct"), "cloudflare");
    assert.equal(find("anthropic-aws", "claude-sonnet-4-5"), "anthropic");
    assert.equal(find("qwen-code", "no-such-model"), undefined);
  });
});

describe("convertMatch()", () => {
  it("rejects a regular expression that a rule cannot express", () => {
    for (const regex of ["^a.*b$", "a-\\d", "^(a|b)$", "^[ab]$", "^a+$"]) {
      assert.throws(() => convertMatch({ regex }), /a rule cannot express this regular expression/);
    }
  });
});

describe("PriceBook.find() against the source's own matcher", () => {
  it("finds the same model for every name that the source knows, on every list", () => {
    let found = 0;
    const more: string[] = [];
    for (const provider of providers) {
      const names = new Set(provider.models.flatMap((model) => [model.id, ...namesOf(model.match)]));
      for (const name of names) {
        const theirs = calcPrice({}, name, { providerId: provider.id, timestamp: new Date(NOVEMBER) });
        const ours = book.find({ provider: provider.id, model: name, requestedModel: null, at: NOVEMBER });
        if (theirs === null) {
          if (ours !== null) more.push(name);
          continue;
        }
        found++;
        assert.equal(ours?.model, theirs.model.id, `${provider.id} ${name}`);
      }
    }
    assert.ok(found > 4_000, `${found} names`);
    // What we find beyond the source is a snapshot or a path of a model that it does know.
    assert.deepEqual(
      more.filter((name) => !/-20250929$|models\//.test(name)),
      [],
    );
  });
});

/** Why a cost may differ from the source's. Each reason must explain at least one difference, and all of them. */
const reasons: readonly [reason: string, explains: (usage: UsageToPrice) => boolean][] = [
  [
    "a rate that is no whole micro-USD is rounded",
    (usage) => ROUNDED_RATES.some((line) => line.startsWith(`${usage.provider} ${book.find(usage)!.model} `)),
  ],
  [
    "the tiers of OpenAI's models begin above 272,000 tokens; the source's begin there",
    (usage) => usage.tokens.promptTokens === 272_000 && ["openai", "aws", "azure"].includes(usage.provider),
  ],
  [
    "one-hour writes of Claude models cost twice the input where the list is silent; the source takes the plain write",
    (usage) => {
      const row = book.find(usage)!;
      return (
        row.model.includes("claude") &&
        row.rates.cacheWrite1h === null &&
        usage.tokens.cacheWrite1hTokens! > 0
      );
    },
  ],
];

describe("priceUsage() against the source's own calculator", () => {
  const grid = [
    [1, 0, 0, 0, 1, 0],
    [1234, 0, 0, 0, 567, 89],
    [0, 1, 0, 0, 0, 0],
    [17, 100_003, 2_049, 1_021, 333, 7],
    [127_999, 1, 0, 0, 3, 0],
    [128_000, 1, 0, 0, 3, 0],
    [100_000, 99_000, 1_000, 0, 8_191, 0],
    [100_000, 99_000, 1_001, 501, 8_191, 1],
    [271_999, 0, 0, 0, 1, 0],
    [272_000, 0, 0, 0, 1, 0],
    [272_001, 0, 0, 0, 1, 0],
    [500_000, 400_000, 99_999, 9_999, 64_000, 31_999],
  ];
  const times = [
    Date.UTC(2024, 0, 1, 12),
    Date.UTC(2026, 10, 21, 0, 30),
    Date.UTC(2026, 10, 21, 3, 59, 59, 999),
    Date.UTC(2026, 10, 21, 16, 30),
    Date.UTC(2027, 0, 1),
  ];

  it("agrees to the pico-USD on the grid, except for the listed reasons", () => {
    const used = new Set<string>();
    let priced = 0;
    for (const provider of providers) {
      for (const model of provider.models) {
        // Some models answer to other names than their own id.
        const name = [model.id, ...namesOf(model.match)].find(
          (candidate) => calcPrice({}, candidate, { providerId: provider.id })?.model === model,
        );
        if (name === undefined) continue;
        for (const at of Array.isArray(model.prices) ? times : [NOVEMBER]) {
          for (const counts of grid) {
            const usage = usageOf(provider.id, name, at, counts);
            const ours = priceUsage(usage, book);
            if (ours.costPicoUsd === null) {
              // No rate for something that was used: the source takes it as free. Or an input beyond the context window.
              assert.match(
                ours.unpricedReason ?? "",
                /^no rate for (input|cache read|output|thinking) of |^no published price above 272,000 /,
              );
              continue;
            }
            priced++;
            if (ours.costPicoUsd === referencePicoUsd(usage)) continue;
            const explained = reasons.filter(([, explains]) => explains(usage));
            assert.ok(explained.length > 0, `${provider.id} ${model.id} ${counts} at ${at}`);
            for (const [reason] of explained) used.add(reason);
          }
        }
      }
    }
    assert.ok(priced > 15_000, `${priced} priced`);
    assert.deepEqual([...used].sort(), reasons.map(([reason]) => reason).sort());
  });

  it("agrees on fees and modalities", () => {
    const cases: [
      provider: string,
      model: string,
      extras: Record<string, number>,
      theirs: Record<string, number>,
    ][] = [
      ["anthropic", "claude-sonnet-4-5", { web_search_requests: 3 }, { web_searches: 3 }],
      ["openai", "gpt-5", { file_search_requests: 7 }, { storage_searches: 7 }],
      ["openai", "gpt-4o-realtime-preview", { audio_input_tokens: 400 }, { input_audio_tokens: 400 }],
      ["google", "gemini-2.5-flash", { audio_input_tokens: 1000 }, { input_audio_tokens: 1000 }],
      ["google", "gemini-3-pro-image-preview", { image_output_tokens: 90 }, { output_image_tokens: 90 }],
      ["perplexity", "sonar", {}, {}],
      ["openai", "gpt-image-1", { image_input_tokens: 50 }, { input_image_tokens: 50 }],
    ];
    for (const [provider, model, extras, more] of cases) {
      const ours = priceUsage(
        { ...usageOf(provider, model, NOVEMBER, [1000, 0, 0, 0, 100, 0]), extras },
        book,
      );
      const theirs = calcPrice({ input_tokens: 1000, output_tokens: 100, ...more }, model, {
        providerId: provider,
      });
      assert.equal(ours.costPicoUsd, BigInt(Math.round(theirs!.total_price * 1e12)), `${provider} ${model}`);
    }
  });

  it("prices an hour of audio at the hourly price", () => {
    const usage = usageOf("openai", "whisper-1", NOVEMBER, []);
    const tokens = { ...usage.tokens, promptTokens: null, completionTokens: null };
    const ours = priceUsage(
      { ...usage, tokens, extras: { audio_milliseconds: 3_600_000 }, requestKind: "audio" },
      book,
    );
    assert.equal(ours.costPicoUsd, 360_000_000_000n);
  });
});
