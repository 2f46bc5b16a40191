import type { TokenSums } from "../../core/pricing/view/usage-sums.ts";
import type { TokenCounts } from "../../core/values/record.ts";

const sum = (...counts: readonly (bigint | number | null)[]): bigint | null =>
  counts.reduce<bigint | null>((total, each) => (each === null ? total : (total ?? 0n) + BigInt(each)), null);

/** Adds up all input tokens, including cache reads and writes. */
export const totalInput = (tokens: TokenSums): bigint | null =>
  sum(tokens.prompt, tokens.cacheRead, tokens.cacheWrite);

/** Adds up all output tokens, including thinking tokens. */
export const totalOutput = (tokens: TokenSums): bigint | null => sum(tokens.completion, tokens.thinking);

/** Adds up all tokens. */
export const totalTokens = (tokens: TokenSums): bigint | null => sum(totalInput(tokens), totalOutput(tokens));

/** Converts the token counts of one request to sums. */
export const toTokenSums = (tokens: TokenCounts): TokenSums => ({
  prompt: sum(tokens.promptTokens),
  cacheRead: sum(tokens.cacheReadTokens),
  cacheWrite: sum(tokens.cacheWriteTokens),
  cacheWrite1h: sum(tokens.cacheWrite1hTokens),
  completion: sum(tokens.completionTokens),
  thinking: sum(tokens.thinkingTokens),
});
