import type { TokenSums } from "../../core/pricing/view/usage-sums.ts";

const sum = (...counts: readonly (bigint | null)[]): bigint | null =>
  counts.reduce((total, each) => (each === null ? total : (total ?? 0n) + each), null);

/** Adds up all input tokens, including cache reads and writes. */
export const totalInput = (tokens: TokenSums): bigint | null =>
  sum(tokens.prompt, tokens.cacheRead, tokens.cacheWrite);

/** Adds up all output tokens, including thinking tokens. */
export const totalOutput = (tokens: TokenSums): bigint | null => sum(tokens.completion, tokens.thinking);

/** Adds up all tokens. */
export const totalTokens = (tokens: TokenSums): bigint | null => sum(totalInput(tokens), totalOutput(tokens));
