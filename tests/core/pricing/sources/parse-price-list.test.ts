import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readPublishedRate } from "../../../../core/pricing/published-rates.ts";
import { parsePriceList } from "../../../../core/pricing/sources/parse-price-list.ts";
import { PRICE_FORMATS, type PriceFormat } from "../../../../core/pricing/sources/price-sources.ts";

/** Parses a list that must be readable. */
function ratesOf(text: string, format: PriceFormat) {
  const parsed = parsePriceList(text, format);
  assert.ok(parsed.ok, parsed.ok ? "" : parsed.problem);
  return parsed.rates;
}

const problemOf = (text: string, format: PriceFormat) => {
  const parsed = parsePriceList(text, format);
  return parsed.ok ? null : parsed.problem;
};

// The shapes of BerriAI/litellm, model_prices_and_context_window.json, July 2026.
const LITELLM = `{
  "sample_spec": {"litellm_provider": "one of …", "input_cost_per_token": 0.0, "max_tokens": "text"},
  "gpt-5.4": {
    "litellm_provider": "openai", "mode": "chat",
    "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05, "cache_read_input_token_cost": 2.5e-07,
    "input_cost_per_token_above_272k_tokens": 5e-06, "output_cost_per_token_above_272k_tokens": 2.25e-05,
    "cache_read_input_token_cost_above_272k_tokens": 5e-07,
    "input_cost_per_token_batches": 1.25e-06, "output_cost_per_token_batches": 7.5e-06,
    "input_cost_per_token_flex": 1.25e-06, "output_cost_per_token_flex": 7.5e-06,
    "cache_read_input_token_cost_flex": 1.25e-07,
    "input_cost_per_token_priority": 5e-06, "output_cost_per_token_priority": 3e-05,
    "cache_read_input_token_cost_priority": 5e-07
  },
  "claude-sonnet-4-5": {
    "litellm_provider": "anthropic", "mode": "chat",
    "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05, "cache_read_input_token_cost": 3e-07,
    "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06,
    "input_cost_per_token_above_200k_tokens": 6e-06, "output_cost_per_token_above_200k_tokens": 2.25e-05,
    "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06,
    "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05,
    "search_context_cost_per_query": {"search_context_size_high": 0.01, "search_context_size_low": 0.01, "search_context_size_medium": 0.01}
  },
  "gpt-4o-audio-preview": {
    "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05,
    "input_cost_per_audio_token": 4e-05, "output_cost_per_audio_token": 8e-05
  },
  "gemini/gemini-2.5-pro": {
    "litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05,
    "input_cost_per_token_priority": 1.25e-06, "output_cost_per_token_priority": 1e-05
  },
  "gemini-2.5-pro": {"litellm_provider": "vertex_ai-language-models", "input_cost_per_token": 9e-06, "output_cost_per_token": 9e-06},
  "vertex_ai/meta/llama-4-scout-17b-16e-instruct-maas": {
    "litellm_provider": "vertex_ai-llama_models", "input_cost_per_token": 2.5e-07, "output_cost_per_token": 7e-07
  },
  "together_ai/openai/gpt-oss-120b": {"litellm_provider": "together_ai", "input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07},
  "bedrock/us-east-1/anthropic.claude-v1": {"litellm_provider": "bedrock", "input_cost_per_token": 8e-06, "output_cost_per_token": 2.4e-05},
  "openai.gpt-oss-120b-1:0": {"litellm_provider": "bedrock_converse", "input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07},
  "azure/eu/gpt-4o": {"litellm_provider": "azure", "input_cost_per_token": 2.75e-06, "output_cost_per_token": 1.1e-05},
  "dashscope/qwen-flash": {
    "litellm_provider": "dashscope", "mode": "chat",
    "tiered_pricing": [
      {"input_cost_per_token": 5e-08, "output_cost_per_token": 4e-07, "range": [0, 256000.0]},
      {"input_cost_per_token": 2.5e-07, "output_cost_per_token": 2e-06, "range": [256000.0, 1000000.0]}
    ]
  },
  "rerank-v3.5": {"litellm_provider": "cohere", "mode": "rerank", "input_cost_per_query": 0.002, "input_cost_per_token": 0.0, "output_cost_per_token": 0.0},
  "whisper-1": {"litellm_provider": "openai", "mode": "audio_transcription", "input_cost_per_second": 0.0001, "output_cost_per_second": 0.0001},
  "mistral/mistral-ocr-latest": {"litellm_provider": "mistral", "mode": "ocr", "ocr_cost_per_page": 0.001, "annotation_cost_per_page": 0.003},
  "perplexity/sonar-deep-research": {
    "litellm_provider": "perplexity", "input_cost_per_token": 2e-06, "output_cost_per_token": 8e-06,
    "output_cost_per_reasoning_token": 3e-06, "citation_cost_per_token": 2e-06
  },
  "github_copilot/gpt-4o": {"litellm_provider": "github_copilot", "input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
}`;

describe("parsePriceList() of LiteLLM's list", () => {
  const rates = ratesOf(LITELLM, "litellm");
  const find = (provider: string, model: string) =>
    rates.filter((rate) => rate.provider === provider && rate.model === model);

  it("reads token rates, context tiers and service tiers in USD per million", () => {
    assert.deepEqual(find("openai", "gpt-5.4"), [
      {
        provider: "openai",
        model: "gpt-5.4",
        ...{ input: "2.5", output: "15", cache_read: "0.25", cache_write: null },
        tiers: [{ above_tokens: 272_000, input: "5", output: "22.5", cache_read: "0.5", cache_write: null }],
        service_tiers: {
          batch: { input: "1.25", output: "7.5", cache_read: null, cache_write: null },
          flex: { input: "1.25", output: "7.5", cache_read: "0.125", cache_write: null },
          priority: { input: "5", output: "30", cache_read: "0.5", cache_write: null },
        },
      },
    ]);
  });

  it("reads one-hour writes, also above a context tier, and a search fee that does not depend on the size", () => {
    const [rate] = find("anthropic", "claude-sonnet-4-5");
    assert.equal(rate?.cache_write_1h, "6");
    assert.deepEqual(rate?.tiers, [
      {
        above_tokens: 200_000,
        ...{ input: "6", output: "22.5", cache_read: null, cache_write: "7.5", cache_write_1h: "12" },
      },
    ]);
    assert.deepEqual(rate?.extras, { web_search_requests: "10000" });
  });

  it("reads modalities and fees", () => {
    assert.deepEqual(find("openai", "gpt-4o-audio-preview")[0]?.extras, {
      audio_input_tokens: "40",
      audio_output_tokens: "80",
    });
    assert.deepEqual(find("cohere", "rerank-v3.5")[0]?.extras, { search_units: "2000" });
    // $0.006 per minute is $0.36 per hour.
    assert.deepEqual(find("openai", "whisper-1")[0]?.extras, { audio_milliseconds: "360000" });
    assert.deepEqual(find("mistral", "mistral-ocr-latest")[0]?.extras, {
      document_pages: "1000",
      annotated_document_pages: "3000",
    });
    const [research] = find("perplexity", "sonar-deep-research");
    assert.deepEqual([research?.thinking, research?.extras], ["3", { citation_tokens: "2" }]);
  });

  it("names models as their provider does, and prefers the plain name's price", () => {
    assert.deepEqual(
      find("google", "gemini-2.5-pro").map(({ input }) => input),
      ["1.25"],
    );
    assert.equal(find("google", "llama-4-scout-17b-16e-instruct-maas").length, 1);
    assert.equal(find("together", "openai/gpt-oss-120b").length, 1);
    assert.equal(find("aws", "openai.gpt-oss-120b-1:0").length, 1);
    assert.equal(find("azure", "gpt-4o").length + find("aws", "anthropic.claude-v1").length, 0);
  });

  it("leaves out a placeholder of a priority tier, the sample, and models whose prices are all 0", () => {
    assert.equal(find("google", "gemini-2.5-pro")[0]?.service_tiers, undefined);
    assert.equal(
      rates.some(({ model }) => model === "sample_spec" || model === "gpt-4o"),
      false,
    );
  });

  it("reads stepped prices as base rates and tiers", () => {
    const [rate] = find("dashscope", "qwen-flash");
    assert.deepEqual([rate?.input, rate?.output], ["0.05", "0.4"]);
    assert.deepEqual(rate?.tiers, [
      { above_tokens: 256_000, input: "0.25", output: "2", cache_read: null, cache_write: null },
    ]);
  });
});

// The shapes of https://models.dev/api.json, July 2026.
const MODELS_DEV = `{
  "openai": {"id": "openai", "name": "OpenAI", "models": {
    "gpt-5.4": {"id": "gpt-5.4", "cost": {"input": 2.50, "output": 15.00, "cache_read": 0.25,
      "tiers": [{"tier": {"type": "context", "size": 272000}, "input": 5.00, "output": 22.50, "cache_read": 0.50}],
      "context_over_200k": {"input": 5.00, "output": 22.50, "cache_read": 0.50}},
      "experimental": {"modes": {"fast": {"cost": {"input": 5.00, "output": 30.00, "cache_read": 0.50},
        "provider": {"body": {"service_tier": "priority"}}}}}},
    "no-price": {"id": "no-price"}
  }},
  "google": {"models": {"gemini-2.5-flash": {"cost": {"input": 0.30, "output": 2.50, "input_audio": 1.00}}}},
  "google-vertex": {"models": {"gemini-2.5-flash": {"cost": {"input": 9, "output": 9}}}},
  "amazon-bedrock": {"models": {"openai.gpt-oss-120b-1:0": {"cost": {"input": 0.15, "output": 0.60}}}},
  "alibaba": {"models": {"qwq-plus": {"cost": {"input": 0.8, "output": 2.4, "reasoning": 4}}}},
  "zai-coding-plan": {"models": {"glm-4.7": {"cost": {"input": 0, "output": 0}}}},
  "nvidia": {"models": {"openai/gpt-oss-120b": {"cost": {"input": 0, "output": 0}}}}
}`;

describe("parsePriceList() of models.dev's list", () => {
  const rates = ratesOf(MODELS_DEV, "models.dev");

  it("reads rates, tiers and the modes that select a service tier", () => {
    assert.deepEqual(rates[0], {
      provider: "openai",
      model: "gpt-5.4",
      ...{ input: "2.5", output: "15", cache_read: "0.25", cache_write: null },
      tiers: [{ above_tokens: 272_000, input: "5", output: "22.5", cache_read: "0.5", cache_write: null }],
      service_tiers: { priority: { input: "5", output: "30", cache_read: "0.5", cache_write: null } },
    });
  });

  it("maps providers to price lists, and leaves out subscriptions but no free models", () => {
    assert.deepEqual(
      rates.map(({ provider, model, input, extras, thinking }) => [provider, model, input, extras, thinking]),
      [
        ["openai", "gpt-5.4", "2.5", undefined, undefined],
        ["google", "gemini-2.5-flash", "0.3", { audio_input_tokens: "1" }, undefined],
        ["aws", "openai.gpt-oss-120b-1:0", "0.15", undefined, undefined],
        ["dashscope", "qwq-plus", "0.8", undefined, "4"],
        ["nvidia", "openai/gpt-oss-120b", "0", undefined, undefined],
      ],
    );
  });
});

// The shapes of pydantic/genai-prices, prices/new_data/v2/data.json, August 2026.
const GENAI_PRICES = `[
  {"id": "openai", "name": "OpenAI", "models": [
    {"id": "gpt-5.4", "match": {"or": [{"equals": "gpt-5.4"}, {"equals": "gpt-5-4"}, {"starts_with": "gpt-5.4-2"}]},
     "prices": {"output_reasoning_mtok": 20, "input_mtok": {"base": 2.5, "tiers": [{"start": 272000, "price": 5}]},
                "cache_read_mtok": {"base": 0.25, "tiers": [{"start": 272000, "price": 0.5}]},
                "output_mtok": {"base": 15, "tiers": [{"start": 272000, "price": 22.5}]}}}
  ]},
  {"id": "anthropic", "models": [
    {"id": "claude-opus-4-6", "match": {"starts_with": "claude-opus-4-6"}, "prices": [
      {"prices": {"input_mtok": 5, "output_mtok": 25, "cache_write_1h_mtok": 10, "web_searches_kcount": 10}},
      {"constraint": {"start_date": "2026-03-13"}, "prices": {"input_mtok": 4, "output_mtok": 20}}
    ]}
  ]},
  {"id": "deepseek", "models": [
    {"id": "deepseek-chat", "match": {"equals": "deepseek-chat"}, "prices": [
      {"prices": {"input_mtok": 0.135, "output_mtok": 0.55}},
      {"constraint": {"start_time": "00:30:00Z", "end_time": "16:30:00Z"}, "prices": {"input_mtok": 0.27, "output_mtok": 1.1}}
    ]}
  ]},
  {"id": "perplexity", "models": [{"id": "sonar", "match": {"equals": "sonar"}, "prices": {"input_mtok": 1, "output_mtok": 1, "requests_kcount": 12}}]}
]`;

describe("parsePriceList() of genai-prices' list", () => {
  const rates = ratesOf(GENAI_PRICES, "genai-prices");
  const find = (wanted: string) => rates.filter(({ model }) => model === wanted);

  it("reads rates with tiers, under each exact name", () => {
    for (const name of ["gpt-5.4", "gpt-5-4"]) {
      assert.deepEqual(find(name), [
        {
          provider: "openai",
          model: name,
          thinking: "20",
          ...{ input: "2.5", output: "15", cache_read: "0.25", cache_write: null },
          tiers: [
            { above_tokens: 272_000, input: "5", output: "22.5", cache_read: "0.5", cache_write: null },
          ],
        },
      ]);
    }
  });

  it("reads histories, daily periods and fees", () => {
    assert.deepEqual(
      find("claude-opus-4-6").map(({ input, effective_from, cache_write_1h, extras }) => [
        input,
        effective_from,
        cache_write_1h,
        extras,
      ]),
      [
        ["5", undefined, "10", { web_search_requests: "10000" }],
        ["4", "2026-03-13", undefined, undefined],
      ],
    );
    assert.deepEqual(
      find("deepseek-chat").map(({ input, daily }) => [input, daily]),
      [
        ["0.135", undefined],
        ["0.27", { from: "00:30:00", to: "16:30:00" }],
      ],
    );
    assert.equal(find("sonar")[0]?.per_request, "12000");
  });
});

// The shapes of https://openrouter.ai/api/v1/models, August 2026.
const OPENROUTER = `{"data": [
  {"id": "openai/gpt-5.4-mini", "canonical_slug": "openai/gpt-5.4-mini-20260317", "pricing": {
    "prompt": "0.0000001", "completion": "0.0000006000000000000000001", "web_search": "0.01", "request": "0",
    "input_cache_read": "0.00000001", "input_cache_write_1h": "0.0000002", "audio": "0.000001",
    "overrides": [{"min_prompt_tokens": 272000, "prompt": "0.0000002", "completion": "0.0000009"}]}},
  {"id": "deepseek/deepseek-r1:free", "pricing": {"prompt": "0", "completion": "0"}},
  {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}}
], "total_count": 3}`;

describe("parsePriceList() of OpenRouter's models", () => {
  it("reads prices, tiers and fees, prices free models at 0, and leaves out routers", () => {
    assert.deepEqual(ratesOf(OPENROUTER, "openrouter"), [
      {
        provider: "openrouter",
        model: "openai/gpt-5.4-mini",
        ...{ input: "0.1", output: "0.6", cache_read: "0.01", cache_write: null, cache_write_1h: "0.2" },
        tiers: [{ above_tokens: 272_000, input: "0.2", output: "0.9", cache_read: null, cache_write: null }],
        extras: { audio_input_tokens: "1", web_search_requests: "10000" },
      },
      {
        provider: "openrouter",
        model: "deepseek/deepseek-r1:free",
        ...{ input: "0", output: "0", cache_read: null, cache_write: null },
      },
    ]);
  });
});

describe("parsePriceList() of an invalid list", () => {
  it("says what is wrong", () => {
    assert.equal(problemOf("<html>", "litellm"), "is not JSON");
    assert.equal(problemOf("[]", "litellm"), "is not in the format litellm: an object of models is expected");
    assert.equal(
      problemOf("{}", "openrouter"),
      "is not in the format openrouter: an object with an array `data` is expected",
    );
    assert.equal(
      problemOf("{}", "genai-prices"),
      "is not in the format genai-prices: an array of providers is expected",
    );
    assert.equal(
      problemOf("[]", "models.dev"),
      "is not in the format models.dev: an object of providers is expected",
    );
    assert.equal(problemOf("{}", "models.dev"), "has no prices in the format models.dev");
    assert.equal(problemOf("{}", "meter"), "is not in the format meter");
    assert.equal(problemOf("[".repeat(40) + "]".repeat(40), "litellm"), "nests more than 32 levels deep");
    assert.equal(problemOf(" ".repeat(16 * 1024 * 1024 + 1), "litellm"), "is longer than 16 MiB");
  });

  const modelsIn = (value: unknown, format: PriceFormat) =>
    ratesOf(JSON.stringify(value), format).map(({ model, tiers, service_tiers }) => [
      model,
      tiers?.length ?? 0,
      Object.keys(service_tiers ?? {}).length,
    ]);

  it("leaves out whatever has another form in LiteLLM's list", () => {
    const price = { litellm_provider: "openai", input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
    assert.deepEqual(
      modelsIn(
        {
          good: price,
          "no-object": 1,
          "no-provider": { input_cost_per_token: 1 },
          "no-tiers": { ...price, tiered_pricing: [1, { range: 0 }, { range: ["x"] }, { range: [5, 9] }] },
          "only-priority": {
            ...price,
            output_cost_per_token_priority: 4e-6,
            search_context_cost_per_query: 1,
          },
          "only-request": { litellm_provider: "openai", input_cost_per_request: 0.005 },
          "two-fees": { ...price, search_context_cost_per_query: { low: 1e-3, high: 2e-3 } },
          "by-characters": { ...price, mode: "embedding", input_cost_per_character: 2.5e-8 },
          "image-only": { litellm_provider: "openai", output_cost_per_image: 0.04 },
        },
        "litellm",
      ),
      [
        ["good", 0, 0],
        ["no-tiers", 0, 0],
        ["only-priority", 0, 1],
        ["only-request", 0, 0],
        ["two-fees", 0, 0],
      ],
    );
  });

  it("reads a long-context price of LiteLLM's service tiers", () => {
    const price = { litellm_provider: "azure", input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
    const priority = {
      input_cost_per_token_priority: 2e-6,
      input_cost_per_token_above_200k_tokens_priority: 4e-6,
    };
    const [rate] = ratesOf(JSON.stringify({ m: { ...price, ...priority } }), "litellm");
    assert.deepEqual(rate?.service_tiers?.priority?.tiers, [
      { above_tokens: 200_000, input: "4", output: null, cache_read: null, cache_write: null },
    ]);
  });

  it("leaves out whatever has another form in models.dev's list", () => {
    const cost = { input: 1, output: 2 };
    assert.deepEqual(
      modelsIn(
        {
          nothing: 1,
          "no-models": {},
          openai: {
            models: {
              good: { cost },
              "no-object": 1,
              "no-cost": { cost: 1 },
              "no-token-price": { cost: { input_audio: 1 } },
              "no-amount": { cost: { input: "x", output: 1 } },
              "old-tier": { cost: { ...cost, context_over_200k: { input: 2 } } },
              "odd-tiers": {
                cost: {
                  ...cost,
                  tiers: [1, { tier: 1 }, { tier: { type: "x", size: 5 } }, { tier: { size: 5 } }],
                },
              },
              "no-modes": { cost, experimental: { modes: { a: 1 } } },
              "odd-modes": {
                cost,
                experimental: {
                  modes: {
                    a: 1,
                    b: { cost },
                    c: { cost, provider: { body: { service_tier: "turbo" } } },
                    d: { provider: { body: { service_tier: "flex" } } },
                    e: { cost, provider: { body: { service_tier: "flex" } } },
                  },
                },
              },
            },
          },
        },
        "models.dev",
      ),
      [
        ["good", 0, 0],
        ["old-tier", 1, 0],
        ["odd-tiers", 1, 0],
        ["no-modes", 0, 0],
        ["odd-modes", 0, 1],
      ],
    );
  });

  it("leaves out whatever has another form in genai-prices' list", () => {
    const prices = { input_mtok: 1, output_mtok: 2 };
    const model = (id: unknown, change: object) => ({ id, match: { equals: id }, prices, ...change });
    assert.deepEqual(
      modelsIn(
        [
          1,
          { id: true, models: [] },
          { id: "none", models: 1 },
          {
            id: "openai",
            models: [
              model("good", { match: null }),
              model(true, {}),
              model("no-prices", { prices: 1 }),
              model("no-tokens", { prices: { requests_kcount: 1 } }),
              model("unknown-key", { prices: { ...prices, output_mtok: null, new_mtok: 1 } }),
              model("odd-start", { prices: { input_mtok: { base: 1, tiers: [{ start: "x", price: 1 }] } } }),
              model("odd-tier", { prices: { input_mtok: { base: 1, tiers: [1] } } }),
              model("tiered-fee", {
                prices: { ...prices, requests_kcount: { base: 1, tiers: [{ start: 5, price: 1 }] } },
              }),
              model("odd-constraint", {
                prices: [
                  { prices, constraint: 1 },
                  { prices, constraint: { start_time: 1 } },
                ],
              }),
              model("one-hour", {
                prices: { ...prices, cache_write_1h_mtok: { base: 1, tiers: [{ start: 5, price: 2 }] } },
              }),
              model("many", {
                match: { or: Array.from({ length: 60 }, (_, index) => ({ equals: `name-${index}` })) },
              }),
            ],
          },
        ],
        "genai-prices",
      ).filter(([name]) => !String(name).startsWith("name-")),
      [
        ["good", 0, 0],
        ["unknown-key", 0, 0],
        ["odd-constraint", 0, 0],
        ["one-hour", 1, 0],
        ["many", 0, 0],
      ],
    );
  });

  it("leaves out whatever has another form in OpenRouter's list", () => {
    const pricing = { prompt: "0.1", completion: "0.2" };
    assert.deepEqual(
      modelsIn(
        {
          data: [
            1,
            { id: true, pricing },
            { id: "no-pricing", pricing: 1 },
            { id: "no-token-price", pricing: { image: "1" } },
            { id: "no-amount", pricing: { prompt: "x", completion: "1" } },
            { id: "odd-overrides", pricing: { ...pricing, overrides: [1, {}, { min_prompt_tokens: 0 }] } },
            { id: "fees", pricing: { ...pricing, request: "0.01", internal_reasoning: "0.3" } },
          ],
        },
        "openrouter",
      ),
      [
        ["odd-overrides", 0, 0],
        ["fees", 0, 0],
      ],
    );
  });

  it("reads the meter's own format, and refuses another unit", () => {
    const rate = {
      provider: "acme",
      model: "m",
      input: "1",
      output: "2",
      cache_read: null,
      cache_write: null,
    };
    const list = { published_at: "2026-11-21", unit: "usd_per_million_tokens", rates: [rate] };
    assert.deepEqual(modelsIn(list, "meter"), [["m", 0, 0]]);
    assert.equal(
      problemOf(JSON.stringify({ ...list, unit: "usd" }), "meter"),
      "has another unit than usd_per_million_tokens",
    );
  });

  it("refuses more models than any list has, and reports at most a thousand problems", () => {
    const many = (count: number, cost: object) =>
      JSON.stringify({
        x: { models: Object.fromEntries(Array.from({ length: count }, (_, index) => [index, { cost }])) },
      });
    assert.equal(problemOf(many(50_001, { input: 1 }), "models.dev"), "has more than 50000 models");
    const parsed = parsePriceList(
      many(1_100, { input: "x", output: 1 }).replace("{", '{"y":{"models":{"m":{"cost":{"input":1}}}},'),
      "models.dev",
    );
    assert.equal(parsed.ok && parsed.problems.length, 1_000);
  });

  it("leaves out a model with a price that is not an amount, and names the field", () => {
    const text = `{"good": {"litellm_provider": "openai", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},
      "negative": {"litellm_provider": "openai", "input_cost_per_token": -1e-6, "output_cost_per_token": 2e-6},
      "flag": {"litellm_provider": "openai", "input_cost_per_token": true, "output_cost_per_token": 2e-6},
      "text": {"litellm_provider": "openai", "input_cost_per_token": "free", "output_cost_per_token": 2e-6},
      "huge": {"litellm_provider": "openai", "input_cost_per_token": 1e300, "output_cost_per_token": 2e-6}}`;
    const parsed = parsePriceList(text, "litellm");
    assert.ok(parsed.ok);
    assert.deepEqual(
      parsed.rates.map(({ model }) => model),
      ["good"],
    );
    assert.deepEqual(
      parsed.problems.map(({ model, field, problem }) => [model, field, problem]),
      [
        ["negative", "input_cost_per_token", "is not an amount from zero up"],
        ["flag", "input_cost_per_token", "is not an amount from zero up"],
        ["text", "input_cost_per_token", "is not an amount from zero up"],
        ["huge", "input_cost_per_token", "is too large"],
      ],
    );
  });

  it("rounds a price to a micro-USD per million tokens from its text, without a float", () => {
    const priceOf = (text: string) =>
      ratesOf(
        `{"m": {"litellm_provider": "x", "input_cost_per_token": ${text}, "output_cost_per_token": 1e-6}}`,
        "litellm",
      )[0]?.input;
    assert.equal(priceOf("1.5e-07"), "0.15");
    assert.equal(priceOf("0.00000015000000000000000000000000001"), "0.15");
    assert.equal(priceOf("0.0833333333333333e-6"), "0.083333");
    assert.equal(priceOf("9007199254.740993e-12"), "9007.199255");
  });

  it("never throws, and returns only rates that readPublishedRate() can check", () => {
    // Seen to fail with a field read from a null entry.
    const value = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(null, true, "0.1", "openai", "", -1, 1e-7, 1e21, 272_000),
        fc.array(tie("json"), { maxLength: 4 }),
        fc.dictionary(
          fc.constantFrom(
            ...[
              "openai",
              "models",
              "data",
              "id",
              "cost",
              "prices",
              "pricing",
              "input",
              "tiers",
              "tier",
              "size",
            ],
            ...["prompt", "overrides", "litellm_provider", "input_cost_per_token", "tiered_pricing", "range"],
            ...["input_mtok", "base", "start", "price", "match", "or", "equals", "__proto__", "experimental"],
          ),
          tie("json"),
          { maxKeys: 8 },
        ),
      ),
    })).json;
    fc.assert(
      fc.property(value, fc.constantFrom(...PRICE_FORMATS), (json, format) => {
        const parsed = parsePriceList(JSON.stringify(json), format);
        for (const rate of parsed.ok ? parsed.rates : []) readPublishedRate(rate, "auto", "2026-11-23");
      }),
      { numRuns: 500 },
    );
  });
});
