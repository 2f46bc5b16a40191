import type { ModelText } from "./model-text.ts";

/** DeepSeek's peak hours in UTC, on weekdays. Its Chinese public holidays are off-peak, which these rows do not know. */
const MORNING = [3_600, 14_400, 1] as const;
const AFTERNOON = [21_600, 36_000, 1] as const;

const GPT_6_FEES = { web_search_requests: 10_000_000_000, file_search_requests: 2_500_000_000 };

const FLASH_AUDIO = { audio_input_tokens: 1_000_000, audio_cache_read_tokens: 100_000 };

/**
 * Prices that the bundled source lacks or has wrong, in the form that `loadBundledRates` reads. Each names the provider's page that
 * states it. The prices of gpt-6.1-sol, DeepSeek, the legacy models, Titan V2, gpt-oss-safeguard and Phi-4 come from other reports
 * of these pages (2026-11-23); compare them with the pages at the next update. A model here replaces that model of the source, and
 * its rule comes before the source's rules, which match whole families.
 */
export const STATED_RATES: Readonly<Record<string, readonly ModelText[]>> = {
  openai: [
    // https://developers.openai.com/api/docs/models/gpt-6.1-sol: $2, cached $0.10, written $2.50, output $10; above 272,000
    // input tokens, twice the input and 1.5 times the output.
    [
      "gpt-6.1-sol",
      ["=gpt-6.1-sol", "#gpt-6.1-sol-####-##-##"],
      [
        ...([0, 0, [2_000_000, 10_000_000, 100_000, 2_500_000]] as const),
        [[272_000, 4_000_000, 15_000_000, 200_000, 5_000_000]],
        GPT_6_FEES,
      ],
    ],
    // https://developers.openai.com/api/docs/pricing, "Web search": these models search before each answer and state no searches:
    // $25 for 1,000 of the GPT-4o models, $10 of GPT-5's.
    [
      "gpt-4o-search-preview",
      "^gpt-4o-search-preview",
      [0, 0, [2_500_000, 10_000_000], 0, 0, 0, 25_000_000_000],
    ],
    [
      "gpt-4o-mini-search-preview",
      "^gpt-4o-mini-search-preview",
      [0, 0, [150_000, 600_000], 0, 0, 0, 25_000_000_000],
    ],
    [
      "gpt-5-search-api",
      "^gpt-5-search-api",
      [0, 0, [1_250_000, 10_000_000, 125_000], 0, 0, 0, 10_000_000_000],
    ],
    // https://developers.openai.com/api/docs/pricing, "Legacy models". The source takes them for the models before them.
    ["babbage-002", 0, [0, 0, [400_000, 400_000]]],
    ["davinci-002", 0, [0, 0, [2_000_000, 2_000_000]]],
  ],
  // https://ai.google.dev/gemini-api/docs/changelog and the notice of 2026-02-27: the alias names Gemini 3 Pro, then 3.1 Pro, at one
  // price. https://cloud.google.com/vertex-ai/generative-ai/pricing for the open models: LiteLLM has the prices of their first weeks,
  // and R1's for V3.1.
  google: [
    [
      "gemini-pro-latest",
      0,
      [0, 0, [1_250_000, 10_000_000, 125_000], [[200_000, 2_500_000, 15_000_000, 250_000]]],
      [
        ...(["2026-01-21", 0, [2_000_000, 12_000_000, 200_000]] as const),
        [[200_000, 4_000_000, 18_000_000, 400_000]],
      ],
    ],
    [
      "gemini-flash-latest",
      0,
      [0, 0, [300_000, 2_500_000, 30_000], 0, FLASH_AUDIO],
      ["2026-01-21", 0, [500_000, 3_000_000, 50_000], 0, FLASH_AUDIO],
      ["2026-07-22", 0, [1_500_000, 7_500_000, 150_000]],
      ["2026-08-13", 0, [750_000, 3_750_000, 75_000]],
      ["2027-01-01", 0, [1_500_000, 7_500_000, 150_000]],
    ],
    ["deepseek-v3.1-maas", 0, [0, 0, [600_000, 1_700_000]]],
    ["gpt-oss-120b-maas", 0, [0, 0, [90_000, 360_000]]],
    ["gpt-oss-20b-maas", 0, [0, 0, [70_000, 250_000]]],
    ["qwen3-235b-a22b-instruct-2507-maas", 0, [0, 0, [220_000, 880_000]]],
  ],
  // https://docs.x.ai/developers/models: $2 and $6 in spring 2026, $1.25 and $2.50 since June 2026 at the latest, twice that from 200,000
  // tokens. LiteLLM has the first price.
  "x-ai": [
    [
      "grok-4.20",
      ["=grok-4.20", "^grok-4.20-"],
      [0, 0, [1_250_000, 2_500_000, 200_000], [[199_999, 2_500_000, 5_000_000, 400_000]]],
    ],
  ],
  mistral: [
    // https://docs.mistral.ai/models/mistral-large-3-25-12: the alias names Mistral Large 3, $0.50 and $1.50, cached a tenth.
    [
      "mistral-large-latest",
      0,
      [0, 0, [2_000_000, 6_000_000]],
      ["2025-12-02", 0, [500_000, 1_500_000, 50_000]],
    ],
    // https://github.com/mistralai/platform-docs-public, src/schema/models/models, the data of https://docs.mistral.ai/models.
    ["mistral-small-latest", 0, [0, 0, [100_000, 300_000]], ["2026-03-16", 0, [150_000, 600_000, 15_000]]],
    [
      "mistral-small-3",
      ["=mistral-small-2409", "=mistral-small-2501", "=mistral-small-2503", "=labs-mistral-small-creative"],
      [0, 0, [100_000, 300_000]],
    ],
    ["ministral-14b-latest", 0, [0, 0, [200_000, 200_000]]],
    ["ministral-3b-latest", 0, [0, 0, [40_000, 40_000]], ["2025-12-02", 0, [100_000, 100_000]]],
    ["ministral-3b-2410", 0, [0, 0, [40_000, 40_000]]],
    ["mistral-embed", ["=mistral-embed", "=mistral-embed-2312"], [0, 0, [100_000]]],
    ["open-mistral-nemo-2407", 0, [0, 0, [150_000, 150_000]]],
    ["labs-leanstral-1-5", ["=labs-leanstral-1-5", "=labs-leanstral-2603"], [0, 0, [0, 0]]],
    ["zai-glm-5-2", 0, [0, 0, [1_400_000, 4_400_000]]],
  ],
  // https://openrouter.ai/cohere/rerank-4-pro: $0.0025 a search, and Microsoft sells both models at these prices. Cohere's own page
  // names none.
  cohere: [
    // https://cohere.com/pricing: $0.12 for a million tokens of text, $0.47 of images.
    ["embed-v4.0", 0, [0, 0, [120_000], 0, { image_input_tokens: 470_000 }]],
    ["rerank-v4.0-pro", 0, [0, 0, [0, 0], 0, { search_units: 2_500_000_000 }]],
    ["rerank-v4.0-fast", 0, [0, 0, [0, 0], 0, { search_units: 2_000_000_000 }]],
  ],
  aws: [
    // https://aws.amazon.com/bedrock/pricing/: Titan Text Embeddings V2 costs $0.00002 for a thousand tokens.
    ["amazon.titan-embed-text-v2", "~titan-embed-text-v2", [0, 0, [20_000]]],
    // The same page: the region that a request is sent to sets its price. The source has those of the US only.
    ["eu.amazon.nova-micro-v1:0", "~eu.amazon.nova-micro", [0, 0, [46_000, 184_000, 11_500]]],
    ["eu.amazon.nova-lite-v1:0", "~eu.amazon.nova-lite", [0, 0, [78_000, 312_000, 19_500]]],
    ["eu.amazon.nova-pro-v1:0", "~eu.amazon.nova-pro", [0, 0, [1_050_000, 4_200_000, 262_500]]],
    ["apac.amazon.nova-micro-v1:0", "~apac.amazon.nova-micro", [0, 0, [37_000, 148_000, 9_250]]],
    ["apac.amazon.nova-lite-v1:0", "~apac.amazon.nova-lite", [0, 0, [63_000, 252_000, 15_750]]],
    ["apac.amazon.nova-pro-v1:0", "~apac.amazon.nova-pro", [0, 0, [840_000, 3_360_000, 210_000]]],
    ["eu.meta.llama3-2-1b-instruct-v1:0", "~eu.meta.llama3-2-1b", [0, 0, [130_000, 130_000]]],
    ["eu.meta.llama3-2-3b-instruct-v1:0", "~eu.meta.llama3-2-3b", [0, 0, [190_000, 190_000]]],
    [
      "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
      "~us-gov.anthropic.claude-sonnet-4-5",
      [0, 0, [3_600_000, 18_000_000, 360_000, 4_500_000, 7_200_000]],
    ],
    [
      "us-gov.anthropic.claude-haiku-4-5-20251001-v1:0",
      "~us-gov.anthropic.claude-haiku-4-5",
      [0, 0, [1_200_000, 6_000_000, 120_000, 1_500_000, 2_400_000]],
    ],
    ["openai.gpt-oss-20b", "~openai.gpt-oss-20b", [0, 0, [70_000, 300_000]]],
  ],
  azure: [
    // https://azure.microsoft.com/pricing/details/phi-3/: $0.000125 and $0.0005 for a thousand tokens.
    ["phi-4", 0, [0, 0, [125_000, 500_000]]],
    // The same page. The source has the prices at which OpenRouter sells them.
    ["phi-4-reasoning-plus", ["=phi-4-reasoning-plus", "=phi-4-reasoning"], [0, 0, [125_000, 500_000]]],
    ["phi-4-mini-instruct", 0, [0, 0, [75_000, 300_000]]],
    ["phi-4-mini-reasoning", 0, [0, 0, [80_000, 320_000]]],
    ["phi-4-multimodal-instruct", 0, [0, 0, [80_000, 320_000], 0, { audio_input_tokens: 4_000_000 }]],
    ["phi-3-medium-128k-instruct", 0, [0, 0, [170_000, 680_000]]],
    ["phi-3-mini-128k-instruct", 0, [0, 0, [130_000, 520_000]]],
    // https://azure.microsoft.com/pricing/details/ai-foundry-models/: what Microsoft sells itself costs more than at its makers.
    ["deepseek-r1", ["=deepseek-r1", "=deepseek-r1-0528"], [0, 0, [1_350_000, 5_400_000]]],
    ["deepseek-v3.2", ["=deepseek-v3.2", "=deepseek-v3.2-speciale"], [0, 0, [580_000, 1_680_000]]],
    ["deepseek-v4-flash", 0, [0, 0, [190_000, 510_000]]],
    ["deepseek-v4-pro", 0, [0, 0, [1_740_000, 3_480_000]]],
    ["gpt-oss-120b", 0, [0, 0, [150_000, 600_000]]],
    ["grok-3-mini", 0, [0, 0, [250_000, 1_270_000]]],
    // LiteLLM has an output that costs less than the input; models.dev has the page's prices.
    ["llama-4-maverick-17b-128e-instruct-fp8", 0, [0, 0, [250_000, 1_000_000]]],
    ["meta-llama-3-70b-instruct", 0, [0, 0, [2_680_000, 3_540_000]]],
  ],
  groq: [
    // https://groq.com/pricing: $0.075 and $0.30, cached half.
    ["openai/gpt-oss-safeguard-20b", "~gpt-oss-safeguard-20b", [0, 0, [75_000, 300_000, 37_500]]],
  ],
  // https://www.together.ai/pricing; LiteLLM has ten times the output of Qwen3 235B.
  together: [
    ["Qwen/Qwen3-235B-A22B-Instruct-2507-tput", 0, [0, 0, [200_000, 600_000]]],
    ["mistralai/Mixtral-8x7B-Instruct-v0.1", 0, [0, 0, [600_000, 600_000]]],
  ],
  // https://novita.ai/pricing, as LiteLLM and models.dev have it. The source has the prices of 2025.
  novita: [
    ["meta-llama/llama-3.1-8b-instruct", 0, [0, 0, [20_000, 50_000]]],
    ["meta-llama/llama-3.3-70b-instruct", 0, [0, 0, [135_000, 400_000]]],
    ["mistralai/mistral-nemo", 0, [0, 0, [40_000, 170_000]]],
  ],
  // https://opencode.ai/docs/zen: some models cost less than at their makers.
  opencode: [
    ["gpt-5", ["=gpt-5", "=gpt-5-codex"], [0, 0, [1_070_000, 8_500_000, 107_000]]],
    ["gpt-5.1", ["=gpt-5.1", "=gpt-5.1-codex"], [0, 0, [1_070_000, 8_500_000, 107_000]]],
    ["kimi-k2", ["=kimi-k2", "=kimi-k2-thinking"], [0, 0, [400_000, 2_500_000, 400_000]]],
    ["kimi-k2.5", 0, [0, 0, [600_000, 3_000_000, 80_000]]],
    ["kimi-k2.5-free", 0, [0, 0, [0, 0, 0]]],
    ["deepseek-v4-pro", 0, [0, 0, [1_740_000, 3_840_000, 145_000]]],
    ["deepseek-v4-flash", 0, [0, 0, [140_000, 280_000, 28_000]]],
  ],
  // https://api-docs.deepseek.com/quick_start/pricing and /updates. Until 2026-04-24, deepseek-chat and deepseek-reasoner were
  // V3.2; then V4 Flash until they were retired on 2026-07-24. Peak hours began on 2026-08-16 at 16:00 UTC, which is a day
  // here from 2026-08-17. Flash is V4.1 since 2026-09-10, under its old name too.
  deepseek: [
    [
      "deepseek-chat",
      ["^deepseek-chat", "=deepseek-chat-v3-0324"],
      [0, 0, [280_000, 420_000, 28_000]],
      ["2026-04-24", 0, [140_000, 280_000, 2_800]],
    ],
    [
      "deepseek-reasoner",
      ["=deepseek-reasoner", "^deepseek-r1", "=deepseek-r1-0528"],
      [0, 0, [280_000, 420_000, 28_000]],
      ["2026-04-24", 0, [140_000, 280_000, 2_800]],
    ],
    [
      "deepseek-v4-flash",
      ["^deepseek-v4-flash", "=deepseek-flash", "^deepseek-v4.1-flash"],
      [0, 0, [140_000, 280_000, 2_800]],
      ["2026-08-17", 0, [220_000, 660_000, 7_000]],
      ["2026-08-17", MORNING, [440_000, 1_320_000, 14_000]],
      ["2026-08-17", AFTERNOON, [440_000, 1_320_000, 14_000]],
      ["2026-09-10", 0, [150_000, 600_000, 3_000]],
      ["2026-09-10", MORNING, [300_000, 1_200_000, 6_000]],
      ["2026-09-10", AFTERNOON, [300_000, 1_200_000, 6_000]],
    ],
    [
      "deepseek-v4-pro",
      "^deepseek-v4-pro",
      [0, 0, [435_000, 870_000, 3_625]],
      ["2026-08-17", 0, [660_000, 1_980_000, 22_000]],
      ["2026-08-17", MORNING, [1_320_000, 3_960_000, 44_000]],
      ["2026-08-17", AFTERNOON, [1_320_000, 3_960_000, 44_000]],
    ],
  ],
};
