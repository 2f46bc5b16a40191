import type { TokenCounts } from "../values/record.ts";
import type { RateTier } from "./rates.ts";
import { CALL_EXTRAS_TIER_TOKENS, type CallExtraName } from "./usage-extras.ts";

/** Token counts without nulls. */
export type KnownCounts = { [name in keyof TokenCounts]: number };

/** A part of a request's tokens and the context tier of its rates. */
export interface TierPortion {
  tokens: KnownCounts;
  tier: RateTier | null;
  /** The suffix of its lines' labels. */
  suffix: string;
}

/** How a request's tokens are distributed over the context tiers. */
interface CallSplit {
  /** The highest tier of any of the tokens. */
  tier: RateTier | null;
  portionsOf(tokens: KnownCounts): TierPortion[];
  /** Why the tiers are unknown, for people; null if they are known. */
  unknown: string | null;
}

/**
 * Distributes tokens over the tiers. `tier` is the one exceeded by the total input. It re-rates the whole request, unless the
 * extras state that several model calls made the response; then each call is in the tier of its own input.
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
      // A part that exceeds the whole is limited to it, so that no token is billed twice.
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
