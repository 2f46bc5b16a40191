/**
 * A count that affects the price in addition to the five token counts. The counts are non-negative integers in a record's
 * `usageExtras` (`usage_extras` on the wire).
 */
export interface UsageExtra {
  /** The name in reports. */
  label: string;
  /**
   * The token count that includes this count, so that no token is billed twice; `null` for what is billed in addition to
   * tokens. A flag is not a count: it selects a factor in `factors.data.ts`.
   */
  partOf: "promptTokens" | "cacheReadTokens" | "completionTokens" | "flag" | null;
  /** How many of the counted make up one unit. Rates are per million units. 1, except for rates per hour. */
  perUnit: number;
}

const part = (label: string, partOf: UsageExtra["partOf"]): UsageExtra => ({ label, partOf, perUnit: 1 });

/** The extras that affect the price. A count with any other name is stored but does not affect the price. */
export const USAGE_EXTRAS = {
  audio_input_tokens: part("audio input", "promptTokens"),
  image_input_tokens: part("image input", "promptTokens"),
  video_input_tokens: part("video input", "promptTokens"),
  audio_cache_read_tokens: part("audio cache read", "cacheReadTokens"),
  image_cache_read_tokens: part("image cache read", "cacheReadTokens"),
  audio_output_tokens: part("audio output", "completionTokens"),
  image_output_tokens: part("image output", "completionTokens"),
  video_output_tokens: part("video output", "completionTokens"),
  /** Perplexity's citation tokens, which are not part of the completion. */
  citation_tokens: part("citations", null),
  web_search_requests: part("web search", null),
  file_search_requests: part("file search", null),
  /** Cohere's unit of a rerank: a query with up to 100 documents. */
  search_units: part("search units", null),
  document_pages: part("document pages", null),
  annotated_document_pages: part("annotated document pages", null),
  text_messages: part("text messages", null),
  /** Tokens of an explicit context cache times the hours that they are stored. */
  cache_storage_token_hours: part("cache storage (token hours)", null),
  /** Duration of audio that is billed by time. The rate is per hour. */
  audio_milliseconds: { label: "audio time", partOf: null, perUnit: 3_600_000 },
  /** 1 if Anthropic's fast mode served the request (`usage.speed = "fast"`). */
  fast_mode: part("fast mode", "flag"),
  /** 1 if inference was restricted to the US (`usage.inference_geo = "us"`). */
  us_inference: part("US-only inference", "flag"),
  /** 1 if the request went to a regional or multi-regional endpoint, and not to the global one. */
  regional_endpoint: part("a regional endpoint", "flag"),
} as const satisfies Record<string, UsageExtra>;

/**
 * Flags, each 1, for an input or output count that was estimated because the provider stated none. They do not affect the
 * price, but make the cost an estimate.
 */
export const ESTIMATE_EXTRAS = ["estimated_input", "estimated_output"] as const;

/** The name of an extra that affects the price. */
export type UsageExtraName = keyof typeof USAGE_EXTRAS;

/**
 * The extras of a response made by several model calls (Anthropic's `usage.iterations[]`) whose total input exceeds the
 * context tier. The tier applies to each call separately. `model_calls` is the number of calls. The others count the tokens
 * of the calls whose own input exceeded 200,000 tokens; the output count includes thinking. They are stored in the record
 * so that its cost can be recomputed.
 */
export const CALL_EXTRAS = [
  "model_calls",
  "above_200k_prompt_tokens",
  "above_200k_cache_read_tokens",
  "above_200k_cache_write_tokens",
  "above_200k_cache_write_1h_tokens",
  "above_200k_output_tokens",
] as const;

/** The name of an extra that determines a context tier. */
export type CallExtraName = (typeof CALL_EXTRAS)[number];

/** The context tier of `CALL_EXTRAS`, in input tokens. Source: Anthropic, "Pricing", "Long context". */
export const CALL_EXTRAS_TIER_TOKENS = 200_000;
