import type { CalendarDate } from "../values/time.ts";
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
  /** The first day (UTC) on which it applies; `null` for as long as anyone remembers. */
  since: CalendarDate | null;
  /** True where the provider publishes this price for the base context tier alone. */
  baseTierOnly: boolean;
  /** True where cache reads keep their own price. */
  exceptCacheReads: boolean;
  /** Where the provider says so. */
  page: string;
  /** When we read it there; `null` where it is common knowledge that wants a check on that page. */
  readOn: CalendarDate | null;
}

const READ_ON = "2026-11-21";
const READ_AGAIN = "2026-11-23";
const UNREAD = null;

const ANTHROPIC_BATCH = "https://platform.claude.com/docs/en/build-with-claude/batch-processing";
const ANTHROPIC_FAST = "https://platform.claude.com/docs/en/build-with-claude/fast-mode";
const ANTHROPIC_GEO = "https://platform.claude.com/docs/en/manage-claude/data-residency";
const OPENAI_PRICES = "https://developers.openai.com/api/docs/pricing";
const OPENAI_BATCH = "https://developers.openai.com/api/docs/guides/batch";
const OPENAI_FLEX = "https://developers.openai.com/api/docs/guides/flex-processing";
const OPENAI_PRIORITY = "https://openai.com/api-priority-processing/";
const OPENAI_RESIDENCY = "https://developers.openai.com/api/docs/guides/data-residency";
const GEMINI_TIERS = "https://ai.google.dev/gemini-api/docs/optimization";
const GEMINI_BATCH =
  "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/capabilities/batch-prediction-gemini";
const VERTEX_PRICES = "https://cloud.google.com/vertex-ai/generative-ai/pricing";
const CLAUDE_PRICES = "https://platform.claude.com/docs/en/about-claude/pricing";
const GEMINI_PRICES = "https://ai.google.dev/gemini-api/docs/pricing";
const TOGETHER_GEO = "https://docs.together.ai/docs/serverless/geo-specific-inference";
const GROQ_FLEX = "https://console.groq.com/docs/flex-processing";
const GROQ_BATCH = "https://console.groq.com/docs/batch";
const MISTRAL_BATCH = "https://docs.mistral.ai/capabilities/batch/";
const BEDROCK_BATCH =
  "https://docs.aws.amazon.com/bedrock/latest/userguide/capacity-limits-cost-optimization.html";
const BEDROCK_PRICES = "https://aws.amazon.com/bedrock/pricing/";
const BEDROCK_TIERS =
  "https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/blob/main/config_library/pricing.yaml";

function factor(
  provider: string,
  models: MatchRule | null,
  when: PriceFactor["when"],
  [numerator, denominator]: readonly [number, number],
  page: string,
  readOn: CalendarDate | null,
  {
    baseTierOnly = false,
    exceptCacheReads = false,
    since = null,
  }: Partial<Pick<PriceFactor, "baseTierOnly" | "exceptCacheReads" | "since">> = {},
): PriceFactor {
  return {
    provider,
    models,
    when,
    numerator,
    denominator,
    since,
    baseTierOnly,
    exceptCacheReads,
    page,
    readOn,
  };
}

const batch = { serviceTier: "batch" };
const flex = { serviceTier: "flex" };
const priority = { serviceTier: "priority" };
const regional = { extra: "regional_endpoint" } as const;
const fast = { extra: "fast_mode" } as const;

/** The Claude models whose price depends on the endpoint: "Claude Sonnet 4.5, Haiku 4.5, and all future models". */
const CLAUDE_WITH_REGIONS: MatchRule = [
  "~claude-sonnet-4-5",
  "~claude-haiku-4-5",
  "~claude-opus-4-5",
  "~claude-sonnet-4-6",
  "~claude-opus-4-6",
  "~claude-opus-4-7",
  "~claude-opus-4-8",
  "~claude-opus-5",
  "~claude-sonnet-5",
  "~claude-fable-5",
];

/** OpenAI's models of before 5 March 2026, whose price is the same on every host. */
const OPENAI_BEFORE_RESIDENCY: MatchRule = [
  "^gpt-3.5",
  "^gpt-4",
  "^chatgpt-4o",
  "=gpt-5",
  "^gpt-5-mini",
  "^gpt-5-nano",
  "^gpt-5-pro",
  "^gpt-5-search-api",
  "^gpt-5.1",
  "^gpt-5.2",
  "^gpt-5.3",
  "^o1",
  "^o3",
  "^o4",
  "^codex-mini",
  "=computer-use",
  "=gpt-audio",
  "=gpt-audio-mini",
  "=gpt-realtime",
  "=gpt-realtime-mini",
  "=gpt-image-1",
  "^gpt-image-1-mini",
  "^gpt-image-1.5",
  "^text-embedding",
  "^whisper",
  "^davinci",
  "^babbage",
  "^ft:gpt-3.5",
  "^ft:gpt-4o",
];

/**
 * Every factor that we can cite. A tier that changes the price and is not here (Anthropic's and Google's priority tiers,
 * provisioned throughput, a new model's fast mode) leaves the request unpriced with that reason: a wrong figure would
 * look as good as a right one.
 */
export const PRICE_FACTORS: readonly PriceFactor[] = [
  // Half of the standard price for all usage, cache reads and writes included.
  factor("anthropic", null, batch, [1, 2], ANTHROPIC_BATCH, UNREAD),
  // $30 / $150 where the standard price is $5 / $25, over the whole context window; cache multipliers apply on top.
  factor("anthropic", ["=claude-opus-4-6", "=claude-opus-4-7"], fast, [6, 1], ANTHROPIC_FAST, READ_ON),
  // $10 / $50 where the standard price is $5 / $25, and $8 / $40 where it is $4 / $20.
  factor(
    "anthropic",
    ["=claude-opus-4-8", "=claude-opus-5", "=claude-opus-5-5"],
    fast,
    [2, 1],
    ANTHROPIC_FAST,
    READ_ON,
  ),
  // US-only inference costs 1.1 times as much for every token category; models since Opus 4.6 alone can ask for it.
  factor("anthropic", null, { extra: "us_inference" }, [11, 10], ANTHROPIC_GEO, UNREAD),

  // Half of standard; prompt caching discounts come on top, and flex has the price of batch.
  factor("openai", null, batch, [1, 2], OPENAI_BATCH, UNREAD),
  factor("openai", null, flex, [1, 2], OPENAI_FLEX, READ_ON),
  // The priority table, input / cached input / output against standard; it excludes long context.
  // $12.50 / $1.25 / $75 against $5 / $0.50 / $30.
  factor("openai", "=gpt-5.5", priority, [5, 2], OPENAI_PRIORITY, READ_ON, { baseTierOnly: true }),
  // $5 / $0.50 / $30 against $2.50 / $0.25 / $15, and $1.50 / $0.15 / $9 against $0.75 / $0.075 / $4.50.
  factor("openai", ["=gpt-5.4", "=gpt-5.4-mini"], priority, [2, 1], OPENAI_PRIORITY, READ_ON, {
    baseTierOnly: true,
  }),
  // $3.50 / $0.35 / $28 against $1.75 / $0.175 / $14.
  factor("openai", "=gpt-5.2", priority, [2, 1], OPENAI_PRIORITY, READ_ON, { baseTierOnly: true }),
  // $2.50 / $0.25 / $20 against $1.25 / $0.125 / $10; their codex variants have the same rows in both tables.
  factor("openai", ["=gpt-5", "=gpt-5.1"], priority, [2, 1], OPENAI_PRIORITY, READ_ON, {
    baseTierOnly: true,
  }),
  // $0.45 / $0.045 / $3.60 against $0.25 / $0.025 / $2.
  factor("openai", "=gpt-5-mini", priority, [9, 5], OPENAI_PRIORITY, READ_ON, { baseTierOnly: true }),
  // Fast mode of GPT-6.1 Sol: $4 / $0.20 / $20 against $2 / $0.10 / $10, and twice above 272,000 tokens too.
  factor(
    "openai",
    "=gpt-6.1-sol",
    priority,
    [2, 1],
    "https://developers.openai.com/api/docs/models/gpt-6.1-sol",
    "2026-11-23",
  ),
  // $3.50 / $0.875 / $14 against $2 / $0.50 / $8.
  factor("openai", "=gpt-4.1", priority, [7, 4], OPENAI_PRIORITY, READ_ON, { baseTierOnly: true }),

  // "A 10% uplift for models released on or after March 5, 2026" on the regional hosts. A model that is not listed as older
  // pays it.
  factor("openai", OPENAI_BEFORE_RESIDENCY, regional, [1, 1], OPENAI_RESIDENCY, READ_AGAIN),
  factor("openai", null, regional, [11, 10], OPENAI_RESIDENCY, READ_AGAIN),

  // Half of standard, but the discounts for batch and for cache hits do not add up: the cache's takes precedence.
  factor("google", null, batch, [1, 2], GEMINI_BATCH, READ_ON, { exceptCacheReads: true }),
  // Half of standard; priority is "75% to 100% more" and so no factor.
  factor("google", "^gemini", flex, [1, 2], GEMINI_TIERS, READ_ON),

  // Claude on a regional or multi-regional endpoint costs a tenth more since the 4.5 models; older ones kept their price.
  factor("google", CLAUDE_WITH_REGIONS, regional, [11, 10], CLAUDE_PRICES, READ_ON),
  // So does Gemini since its third generation, as of July 2026.
  factor("google", "^gemini-3", regional, [11, 10], VERTEX_PRICES, UNREAD, { since: "2026-07-01" }),
  // Every other model has one price for all endpoints.
  factor("google", null, regional, [1, 1], VERTEX_PRICES, UNREAD),

  // "1.25× the standard serverless rate" for input, cached input and output on the hosts of one geography.
  factor("together", null, regional, [5, 4], TOGETHER_GEO, READ_AGAIN),

  // The price of on-demand.
  factor("groq", null, flex, [1, 1], GROQ_FLEX, READ_ON),
  factor("groq", null, batch, [1, 2], GROQ_BATCH, UNREAD),
  factor("mistral", null, batch, [1, 2], MISTRAL_BATCH, UNREAD),
  // Batch inference saves half of on-demand.
  factor("aws", null, batch, [1, 2], BEDROCK_BATCH, READ_ON),
  // $0.15 / $1.25 and $0.525 / $4.38 against $0.30 / $2.50 for Nova 2 Lite, as AWS's own sample states them. Other models have the
  // same discount and premium.
  factor("aws", "~amazon.nova-2-lite", flex, [1, 2], BEDROCK_TIERS, READ_AGAIN),
  factor("aws", "~amazon.nova-2-lite", priority, [7, 4], BEDROCK_TIERS, READ_AGAIN),
  factor("aws", null, flex, [1, 2], BEDROCK_PRICES, UNREAD),
  factor("aws", null, priority, [7, 4], BEDROCK_PRICES, UNREAD),
];

/**
 * Claude's one-hour cache write costs twice the base input, wherever the list does not state it.
 * Source: https://platform.claude.com/docs/en/about-claude/pricing, "Model pricing", read 2026-11-21.
 */
export const ONE_HOUR_WRITE_OF_INPUT: {
  models: MatchRule;
  numerator: number;
  denominator: number;
} = { models: "~claude", numerator: 2, denominator: 1 };

/** Models that have no published price above a total input. */
interface UnpricedAbove {
  /** The price list (see `priceListOf`). */
  provider: string;
  models: MatchRule;
  aboveTokens: number;
  page: string;
  readOn: CalendarDate | null;
}

/**
 * Where the list has no tier because the documented context window ends there. Bedrock accepts longer prompts for these models
 * (BerriAI/litellm#38368), and OpenAI charges twice as much for them on its own hosts.
 */
export const UNPRICED_ABOVE: readonly UnpricedAbove[] = [
  {
    provider: "aws",
    models: ["=openai.gpt-5.4", "=openai.gpt-5.5"],
    aboveTokens: 272_000,
    page: "https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-openai-gpt-54.html",
    readOn: READ_AGAIN,
  },
];

/** What is billed by itself where the bundled list has no price for it, with the page that says so. */
interface ExtraFee {
  /** The price list (see `priceListOf`). */
  provider: string;
  models: MatchRule;
  extra: UsageExtraName;
  /** Micro-USD for a million of them. */
  rate: number;
  page: string;
  readOn: CalendarDate | null;
}

/**
 * Fees by the provider's list. Google gives some searches free in a day or a month, by project, which one call doesn't
 * show: the list's price is taken for all of them, as it is for tokens.
 */
export const EXTRA_FEES: readonly ExtraFee[] = [
  // Tools of the Responses API: $10 for 1,000 web searches and $2.50 for 1,000 file searches, of every model.
  {
    provider: "openai",
    models: "^",
    extra: "web_search_requests",
    rate: 10_000_000_000,
    page: OPENAI_PRICES,
    readOn: UNREAD,
  },
  {
    provider: "openai",
    models: "^",
    extra: "file_search_requests",
    rate: 2_500_000_000,
    page: OPENAI_PRICES,
    readOn: UNREAD,
  },
  // https://docs.x.ai/developers/models, "Tools": $5 for 1,000 searches of the web.
  {
    provider: "x-ai",
    models: "^",
    extra: "web_search_requests",
    rate: 5_000_000_000,
    page: "https://docs.x.ai/developers/models",
    readOn: READ_AGAIN,
  },
  // Connectors of agents and conversations: $30 for 1,000 searches.
  {
    provider: "mistral",
    models: "^",
    extra: "web_search_requests",
    rate: 30_000_000_000,
    page: "https://mistral.ai/pricing",
    readOn: UNREAD,
  },
  // Grounding with Google Search: $14 for 1,000 queries since Gemini 3, $35 for 1,000 grounded prompts before.
  {
    provider: "google",
    models: "^gemini-3",
    extra: "web_search_requests",
    rate: 14_000_000_000,
    page: GEMINI_PRICES,
    readOn: UNREAD,
  },
  {
    provider: "google",
    models: ["^gemini-2", "^gemini-1"],
    extra: "web_search_requests",
    rate: 35_000_000_000,
    page: GEMINI_PRICES,
    readOn: UNREAD,
  },
];
