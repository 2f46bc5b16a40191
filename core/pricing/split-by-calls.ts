import type { TokenCounts } from "../record.ts";
import type { RateTier } from "./rates.ts";
import { CALL_EXTRAS_TIER_TOKENS, type CallExtraName } from "./usage-extras.ts";

/** Counts of which none is unknown. */
export type KnownCounts = { [name in keyof TokenCounts]: number };

/** A part of a request's tokens, and the context tier that its rates are of. */
export interface TierPortion {
  tokens: KnownCounts;
  tier: RateTier | null;
  /** What a line's label says of it. */
  suffix: string;
}

/** How a request's tokens spread over the context tiers. */
export interface CallSplit {
  /** The highest tier that any of the tokens are in. */
  tier: RateTier | null;
  portionsOf(tokens: KnownCounts): TierPortion[];
  /** Why the tiers can't be told, in words. */
  unknown: string | null;
}

/**
 * Spreads tokens over the tiers. `tier` is the one that the total input has passed: it re-rates the whole request, unless
 * the extras say that several calls of the model made the answer. Then each call is in the tier of its own input.
 */
export function splitByCalls(
  extras: Readonly<Record<string, number>> | null,
  tier: RateTier | null,
): CallSplit {
  const count = (name: CallExtraName): number => extras?.[name] ?? 0;
  const whole = (of: RateTier | null, unknown: string | null = null): CallSplit => ({
    tier: of,
    portionsOf: (tokens) => [{ tokens, tier: of, suffix: "" }],
    unknown,
  });
  if (tier === null || count("model_calls") === 0) return whole(tier);
  if (tier.aboveTokens !== CALL_EXTRAS_TIER_TOKENS)
    return whole(tier, `no count of the tokens in calls above ${tier.aboveTokens} tokens`);
  const prompt = count("above_200k_prompt_tokens");
  const cacheRead = count("above_200k_cache_read_tokens");
  const cacheWrite = count("above_200k_cache_write_tokens");
  if (prompt + cacheRead + cacheWrite === 0) return whole(null);
  return {
    tier,
    portionsOf(all) {
      const output = count("above_200k_output_tokens");
      const completionTokens = Math.min(output, all.completionTokens);
      // More of a part than there is of the whole would bill tokens twice: the whole decides.
      const above = {
        promptTokens: Math.min(prompt, all.promptTokens),
        cacheReadTokens: Math.min(cacheRead, all.cacheReadTokens),
        cacheWriteTokens: Math.min(cacheWrite, all.cacheWriteTokens),
        cacheWrite1hTokens: Math.min(count("above_200k_cache_write_1h_tokens"), all.cacheWrite1hTokens),
        completionTokens,
        thinkingTokens: Math.min(output - completionTokens, all.thinkingTokens),
      };
      const below = {
        promptTokens: all.promptTokens - above.promptTokens,
        cacheReadTokens: all.cacheReadTokens - above.cacheReadTokens,
        cacheWriteTokens: all.cacheWriteTokens - above.cacheWriteTokens,
        cacheWrite1hTokens: all.cacheWrite1hTokens - above.cacheWrite1hTokens,
        completionTokens: all.completionTokens - above.completionTokens,
        thinkingTokens: all.thinkingTokens - above.thinkingTokens,
      };
      return [
        { tokens: below, tier: null, suffix: "" },
        { tokens: above, tier, suffix: ` above ${tier.aboveTokens}` },
      ];
    },
    unknown: null,
  };
}
