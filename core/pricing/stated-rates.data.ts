import type { ModelText } from "./bundled-rates.ts";

/** DeepSeek's peak hours in UTC, on weekdays. Its Chinese public holidays are off-peak, which these rows do not know. */
const MORNING = [3_600, 14_400, 1] as const;
const AFTERNOON = [21_600, 36_000, 1] as const;

const GPT_6_FEES = { web_search_requests: 10_000_000_000, file_search_requests: 2_500_000_000 };

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
    // https://developers.openai.com/api/docs/pricing, "Legacy models". The source takes them for the models before them.
    ["babbage-002", 0, [0, 0, [400_000, 400_000]]],
    ["davinci-002", 0, [0, 0, [2_000_000, 2_000_000]]],
  ],
  mistral: [
    // https://docs.mistral.ai/models/mistral-large-3-25-12: the alias names Mistral Large 3, $0.50 and $1.50, cached a tenth.
    [
      "mistral-large-latest",
      0,
      [0, 0, [2_000_000, 6_000_000]],
      ["2025-12-02", 0, [500_000, 1_500_000, 50_000]],
    ],
  ],
  aws: [
    // https://aws.amazon.com/bedrock/pricing/: Titan Text Embeddings V2 costs $0.00002 for a thousand tokens.
    ["amazon.titan-embed-text-v2", "~titan-embed-text-v2", [0, 0, [20_000]]],
  ],
  azure: [
    // https://azure.microsoft.com/pricing/details/phi-3/: $0.000125 and $0.0005 for a thousand tokens.
    ["phi-4", 0, [0, 0, [125_000, 500_000]]],
  ],
  groq: [
    // https://groq.com/pricing: $0.075 and $0.30, cached half.
    ["openai/gpt-oss-safeguard-20b", "~gpt-oss-safeguard-20b", [0, 0, [75_000, 300_000, 37_500]]],
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
