import type { CalendarDate } from "../time.ts";
import type { MatchRule } from "./model-match.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/** What a service tier, a batch or a mode of inference multiplies the token rates by, with the page that says so. */
export interface PriceFactor {
  /** The price list (see `priceListOf`) whose API this is. */
  provider: string;
  /** The models it is for; `null` for all of the provider's. */
  models: MatchRule | null;
  /** The service tier that it is the price of, as `normaliseServiceTier` writes it; or the flag among the extras. */
  when: { serviceTier: string } | { extra: UsageExtraName };
  numerator: number;
  denominator: number;
  /** True where the provider publishes this price for the base context tier alone. */
  baseTierOnly: boolean;
  /** Where the provider says so. */
  page: string;
  readOn: CalendarDate;
}

const ANTHROPIC_BATCH = "https://platform.claude.com/docs/en/build-with-claude/batch-processing";
const ANTHROPIC_FAST = "https://platform.claude.com/docs/en/build-with-claude/fast-mode";
const ANTHROPIC_GEO = "https://platform.claude.com/docs/en/build-with-claude/data-residency";
const OPENAI_PRICING = "https://developers.openai.com/api/docs/pricing";
const OPENAI_FLEX = "https://developers.openai.com/api/docs/guides/flex-processing";
const OPENAI_PRIORITY = "https://openai.com/api-priority-processing/";
const GEMINI_TIERS = "https://ai.google.dev/gemini-api/docs/optimization";
const GROQ_FLEX = "https://console.groq.com/docs/flex-processing";
const GROQ_BATCH = "https://console.groq.com/docs/batch";
const MISTRAL_BATCH = "https://docs.mistral.ai/capabilities/batch/";
const BEDROCK_BATCH = "https://aws.amazon.com/bedrock/pricing/";

function factor(
  provider: string,
  models: MatchRule | null,
  when: PriceFactor["when"],
  [numerator, denominator]: readonly [number, number],
  page: string,
  baseTierOnly = false,
): PriceFactor {
  return { provider, models, when, numerator, denominator, baseTierOnly, page, readOn: "2026-11-21" };
}

const batch = { serviceTier: "batch" };
const flex = { serviceTier: "flex" };
const priority = { serviceTier: "priority" };
const fast = { extra: "fast_mode" } as const;

/**
 * Every factor that we can cite. A tier that changes the price and is not here (Anthropic's and Google's priority tiers,
 * provisioned throughput, a new model's fast mode) leaves the request unpriced with that reason: a wrong figure would
 * look as good as a right one.
 */
export const PRICE_FACTORS: readonly PriceFactor[] = [
  // "All usage is charged at 50% of the standard API prices", cache reads and writes included.
  factor("anthropic", null, batch, [1, 2], ANTHROPIC_BATCH),
  // $30 / $150 where the standard price is $5 / $25, over the whole context window; cache multipliers apply on top.
  factor("anthropic", ["=claude-opus-4-6", "=claude-opus-4-7"], fast, [6, 1], ANTHROPIC_FAST),
  // $10 / $50 where the standard price is $5 / $25.
  factor("anthropic", ["=claude-opus-4-8", "=claude-opus-5"], fast, [2, 1], ANTHROPIC_FAST),
  // US-only inference costs 1.1 times as much for every token category; models since Opus 4.6 alone can ask for it.
  factor("anthropic", null, { extra: "us_inference" }, [11, 10], ANTHROPIC_GEO),

  // Batch and flex are the same column of the price table: half of standard, cached input included.
  factor("openai", null, batch, [1, 2], OPENAI_PRICING),
  factor("openai", null, flex, [1, 2], OPENAI_FLEX),
  // The priority table, input / cached input / output against standard; it excludes long context.
  // $12.50 / $1.25 / $75 against $5 / $0.50 / $30.
  factor("openai", "=gpt-5.5", priority, [5, 2], OPENAI_PRIORITY, true),
  // $5 / $0.50 / $30 against $2.50 / $0.25 / $15, and $1.50 / $0.15 / $9 against $0.75 / $0.075 / $4.50.
  factor("openai", ["=gpt-5.4", "=gpt-5.4-mini"], priority, [2, 1], OPENAI_PRIORITY, true),
  // $3.50 / $0.35 / $28 against $1.75 / $0.175 / $14.
  factor("openai", "=gpt-5.2", priority, [2, 1], OPENAI_PRIORITY, true),
  // $2.50 / $0.25 / $20 against $1.25 / $0.125 / $10; their codex variants have the same rows in both tables.
  factor("openai", ["=gpt-5", "=gpt-5.1"], priority, [2, 1], OPENAI_PRIORITY, true),
  // $0.45 / $0.045 / $3.60 against $0.25 / $0.025 / $2.
  factor("openai", "=gpt-5-mini", priority, [9, 5], OPENAI_PRIORITY, true),
  // $3.50 / $0.875 / $14 against $2 / $0.50 / $8.
  factor("openai", "=gpt-4.1", priority, [7, 4], OPENAI_PRIORITY, true),

  // "50% discount" for both; priority is "75% to 100% more" and so no factor.
  factor("google", null, batch, [1, 2], GEMINI_TIERS),
  factor("google", "^gemini", flex, [1, 2], GEMINI_TIERS),

  // "Pricing matches the on-demand tier."
  factor("groq", null, flex, [1, 1], GROQ_FLEX),
  factor("groq", null, batch, [1, 2], GROQ_BATCH),
  factor("mistral", null, batch, [1, 2], MISTRAL_BATCH),
  // Batch inference at half the on-demand price for the models that support it.
  factor("aws", null, batch, [1, 2], BEDROCK_BATCH),
];

/**
 * Claude's one-hour cache write costs twice the base input, wherever the list does not state it.
 * Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching, "Pricing", read 2026-11-21.
 */
export const ONE_HOUR_WRITE_OF_INPUT: {
  models: MatchRule;
  numerator: number;
  denominator: number;
} = { models: "~claude", numerator: 2, denominator: 1 };
