import type { TokenCounts } from "./record.ts";

/** Returns all input tokens, including those of caches. Null if no count is known. */
export const totalInputTokens = ({ promptTokens, cacheReadTokens, cacheWriteTokens }: TokenCounts) =>
  sumKnown(promptTokens, cacheReadTokens, cacheWriteTokens);

/** Returns all output tokens, including thinking. Null if no count is known. */
export const totalOutputTokens = ({ completionTokens, thinkingTokens }: TokenCounts) =>
  sumKnown(completionTokens, thinkingTokens);

function sumKnown(...counts: readonly (number | null)[]): number | null {
  return counts.reduce((sum, count) => (count === null ? sum : (sum ?? 0) + count), null);
}
