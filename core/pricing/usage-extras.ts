/**
 * Counts besides the five that change the price. They stand in `usageExtras` under these names (on the wire too, in
 * `usage_extras`), each a non-negative integer. The names are the contract between the usage readers and pricing.
 */
export interface UsageExtra {
  /** How a report names it. */
  label: string;
  /**
   * The one of the five disjoint counts that this count is a part of, so that no token is billed twice; `null` for what
   * is billed beside the tokens. A flag is no count at all: it selects a factor (see `factors.data.ts`).
   */
  partOf: "promptTokens" | "cacheReadTokens" | "completionTokens" | "flag" | null;
  /**
   * How many of the counted make up one of what the rate is for: a rate is for a million of those. 1 but where the
   * price is per hour.
   */
  perUnit: number;
}

const part = (label: string, partOf: UsageExtra["partOf"]): UsageExtra => ({ label, partOf, perUnit: 1 });

/** Every extra that pricing knows. A count under any other name is kept in the record and changes no price. */
export const USAGE_EXTRAS = {
  audio_input_tokens: part("audio input", "promptTokens"),
  image_input_tokens: part("image input", "promptTokens"),
  video_input_tokens: part("video input", "promptTokens"),
  audio_cache_read_tokens: part("audio cache read", "cacheReadTokens"),
  image_cache_read_tokens: part("image cache read", "cacheReadTokens"),
  audio_output_tokens: part("audio output", "completionTokens"),
  image_output_tokens: part("image output", "completionTokens"),
  video_output_tokens: part("video output", "completionTokens"),
  /** Perplexity's citation tokens, which it counts apart from the completion. */
  citation_tokens: part("citations", null),
  web_search_requests: part("web search", null),
  file_search_requests: part("file search", null),
  /** Cohere's unit of a rerank: a query with up to 100 documents. */
  search_units: part("search units", null),
  document_pages: part("document pages", null),
  annotated_document_pages: part("annotated document pages", null),
  text_messages: part("text messages", null),
  /** Length of audio that is billed by time; the rate is per hour. */
  audio_milliseconds: { label: "audio time", partOf: null, perUnit: 3_600_000 },
  /** 1 where the answer says that Anthropic's fast mode served it (`usage.speed = "fast"`). */
  fast_mode: part("fast mode", "flag"),
  /** 1 where the answer says that inference was kept in the US (`usage.inference_geo = "us"`). */
  us_inference: part("US-only inference", "flag"),
  /** 1 where a cloud's endpoint was that of a region or of several, and not its global one. */
  regional_endpoint: part("a regional endpoint", "flag"),
} as const satisfies Record<string, UsageExtra>;

/**
 * Marks, 1 each, of counts that were estimated because the provider stated none: those of input, those of output. They
 * change no price, but make the cost an estimate.
 */
export const ESTIMATE_EXTRAS = ["estimated_input", "estimated_output"] as const;

/** The name of an extra that pricing knows. */
export type UsageExtraName = keyof typeof USAGE_EXTRAS;

/**
 * Extras of an answer that several calls of the model made (Anthropic's `usage.iterations[]`), where the sum of their
 * input is above the context tier: a tier is decided for each call. `model_calls` is their number, the others the tokens
 * of those whose own input was above 200,000: parts of the counts of the record, the output's a part of completion and
 * thinking together. They stand in the record so that a cost can be computed anew from it alone.
 */
export const CALL_EXTRAS = [
  "model_calls",
  "above_200k_prompt_tokens",
  "above_200k_cache_read_tokens",
  "above_200k_cache_write_tokens",
  "above_200k_cache_write_1h_tokens",
  "above_200k_output_tokens",
] as const;

/** The name of an extra that a context tier is decided on. */
export type CallExtraName = (typeof CALL_EXTRAS)[number];

/** The context tier, in tokens of input, that `CALL_EXTRAS` tell apart. Source: Anthropic, "Pricing", "Long context". */
export const CALL_EXTRAS_TIER_TOKENS = 200_000;
