import type { Rates } from "./define.ts";

/**
 * Prices in USD per million tokens on the day of the cases, copied by hand from the published list of
 * genai-prices 0.1.8 (of 2026-09-23), which links each provider's page.
 */
export const RATES = {
  haiku45: {
    input: "1",
    output: "5",
    cacheRead: "0.1",
    cacheWrite: "1.25",
    cacheWrite1h: "2",
    webSearch: "10000",
  },
  sonnet45: { input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75", cacheWrite1h: "6" },
  /** For the whole request, if its input exceeds 200,000 tokens. */
  sonnet45Long: { input: "6", output: "22.5", cacheRead: "0.6", cacheWrite: "7.5", cacheWrite1h: "12" },
  /** Half of the standard price. */
  haiku45Batch: {
    input: "0.5",
    output: "2.5",
    cacheRead: "0.05",
    cacheWrite: "0.625",
    cacheWrite1h: "1",
  },
  opus46: { input: "5", output: "25", cacheRead: "0.5", cacheWrite: "6.25", cacheWrite1h: "10" },
  opus46Us: { input: "5.5", output: "27.5", cacheRead: "0.55", cacheWrite: "6.875", cacheWrite1h: "11" },
  opus48: { input: "5", output: "25", cacheRead: "0.5", cacheWrite: "6.25", cacheWrite1h: "10" },
  opus48Fast: { input: "10", output: "50", cacheRead: "1", cacheWrite: "12.5", cacheWrite1h: "20" },
  gpt4o: { input: "2.5", output: "10", cacheRead: "1.25" },
  gpt4oMini: { input: "0.15", output: "0.6", cacheRead: "0.075" },
  gpt41: { input: "2", output: "8", cacheRead: "0.5" },
  gpt41Priority: { input: "3.5", output: "14", cacheRead: "0.875" },
  gpt5: { input: "1.25", output: "10", cacheRead: "0.125" },
  gpt5Flex: { input: "0.625", output: "5", cacheRead: "0.0625" },
  gpt5Mini: { input: "0.25", output: "2", cacheRead: "0.025", webSearch: "10000" },
  gpt5MiniFlex: { input: "0.125", output: "1", cacheRead: "0.0125" },
  gpt54: { input: "2.5", output: "15", cacheRead: "0.25" },
  /** For the whole request, if its input exceeds 272,000 tokens. */
  gpt54Long: { input: "5", output: "22.5", cacheRead: "0.5" },
  /** A regional host costs a tenth more. */
  gpt54Regional: { input: "2.75", output: "16.5", cacheRead: "0.275" },
  gpt54Priority: { input: "5", output: "30", cacheRead: "0.5" },
  gpt6Sol: { input: "2", output: "10", cacheRead: "0.2", cacheWrite: "2.5" },
  gpt53Codex: { input: "1.75", output: "14", cacheRead: "0.175" },
  gpt35Instruct: { input: "1.5", output: "2" },
  embedding3Small: { input: "0.02" },
  gemini25Flash: { input: "0.3", output: "2.5", cacheRead: "0.03" },
  gemini25FlashFlex: { input: "0.15", output: "1.25", cacheRead: "0.015" },
  gemini25Pro: { input: "1.25", output: "10", cacheRead: "0.125" },
  /** For the whole request, if its input exceeds 200,000 tokens. */
  gemini25ProLong: { input: "2.5", output: "15", cacheRead: "0.25" },
  geminiEmbedding: { input: "0.15" },
  grok45: { input: "2", output: "6", cacheRead: "0.3" },
  groqLlama33: { input: "0.59", output: "0.79" },
  groqGptOss120b: { input: "0.15", output: "0.6", cacheRead: "0.075" },
  mistralLarge: { input: "0.5", output: "1.5", cacheRead: "0.05" },
  magistralMedium: { input: "2", output: "5" },
  codestral: { input: "0.3", output: "0.9", cacheRead: "0.03" },
  mistralEmbed: { input: "0.1", output: "0.1" },
  deepseekChat: { input: "0.14", output: "0.28", cacheRead: "0.0028" },
  deepseekReasoner: { input: "0.14", output: "0.28", cacheRead: "0.0028" },
  /** From 01:00 to 04:00 and from 06:00 to 10:00 UTC on weekdays, and at other times. */
  deepseekV4ProPeak: { input: "1.32", output: "3.96", cacheRead: "0.044" },
  deepseekV4Pro: { input: "0.66", output: "1.98", cacheRead: "0.022" },
  togetherLlama33: { input: "0.88", output: "0.88" },
  fireworksGptOss120b: { input: "0.15", output: "0.6", cacheRead: "0.014" },
  cerebrasGptOss120b: { input: "0.35", output: "0.75" },
  commandA: { input: "2.5", output: "10" },
  commandR: { input: "0.15", output: "0.6" },
  cohereEmbed: { input: "0.12" },
  bedrockGpt56Sol: { input: "4.4", output: "22", cacheRead: "0.44" },
  bedrockGpt56SolLong: { input: "8.8", output: "33", cacheRead: "0.88" },
  nova2LiteFlex: { input: "0.15", output: "1.25" },
  novaLite: { input: "0.06", output: "0.24", cacheRead: "0.015" },
  bedrockLlama33: { input: "0.72", output: "0.72" },
  bedrockHaikuGlobal: { input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25", cacheWrite1h: "2" },
  /** Regional profiles, and models without one, cost a tenth more. */
  bedrockHaikuRegional: {
    input: "1.1",
    output: "5.5",
    cacheRead: "0.11",
    cacheWrite: "1.375",
    cacheWrite1h: "2.2",
  },
} as const satisfies Record<string, Rates>;
