import { divideHalfEven, formatUsd } from "../../core/pricing/mod.ts";
import type { TokenCounts } from "../../core/record.ts";
import type { TokenSums } from "../store/mod.ts";

/** Places of a cost below one dollar in a table. */
const PLACES = 4;

/** What stands for a count or cost that nobody stated. */
export const UNKNOWN = "–";

/** A cost as a table shows it: cents from a dollar up, four places below; what is smaller than those says so. */
export function shortUsd(picoUsd: bigint | null): string {
  if (picoUsd === null) return UNKNOWN;
  if (picoUsd >= 1_000_000_000_000n || picoUsd <= 0n) return formatUsd(picoUsd);
  const digits = divideHalfEven(picoUsd, 10n ** BigInt(12 - PLACES));
  return digits === 0n
    ? "<$0.0001"
    : `$${digits / 10_000n}.${(digits % 10_000n).toString().padStart(PLACES, "0")}`;
}

/** A count with its thousands set apart. */
export function fullCount(count: number | bigint | null): string {
  return count === null ? UNKNOWN : count.toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** A count of about three digits: `1.2M`. */
export function shortCount(count: number | bigint | null): string {
  if (count === null) return UNKNOWN;
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(count);
}

const sum = (...counts: readonly (bigint | number | null)[]): bigint | null =>
  counts.reduce<bigint | null>((total, each) => (each === null ? total : (total ?? 0n) + BigInt(each)), null);

/** All input, caches included. */
export const inputOf = (tokens: TokenSums): bigint | null =>
  sum(tokens.prompt, tokens.cacheRead, tokens.cacheWrite);

/** All output, thinking included. */
export const outputOf = (tokens: TokenSums): bigint | null => sum(tokens.completion, tokens.thinking);

/** A request's counts as sums of one. */
export const tokenSums = (tokens: TokenCounts): TokenSums => ({
  prompt: sum(tokens.promptTokens),
  cacheRead: sum(tokens.cacheReadTokens),
  cacheWrite: sum(tokens.cacheWriteTokens),
  cacheWrite1h: sum(tokens.cacheWrite1hTokens),
  completion: sum(tokens.completionTokens),
  thinking: sum(tokens.thinkingTokens),
});

/** How long something took. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** A share in tenths of a percent, as people write it. */
export const percent = (permille: number): string => `${permille / 10}%`;

/** One thing, several things. */
export const plural = (count: number, one: string, many: string): string =>
  `${fullCount(count)} ${count === 1 ? one : many}`;
