import type { TokenCounts } from "../../values/record.ts";

/** The counts of a response that states none. */
export const NO_TOKENS: TokenCounts = Object.freeze({
  promptTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  cacheWrite1hTokens: null,
  completionTokens: null,
  thinkingTokens: null,
});

/**
 * Maximum value of a count. Decision: about a million times the size of today's calls, and small enough that SQLite's 64-bit
 * `sum()` cannot overflow with fewer than eight million such rows.
 */
export const MAX_COUNT = 2 ** 40;

/** Returns the value if it is an integer from 0 to `MAX_COUNT`. Anything else counts as not stated and gives null. */
export function readCount(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT
    ? value
    : null;
}

/** Returns the first value that is a valid count, or null. */
export function firstCount(...values: readonly unknown[]): number | null {
  for (const value of values) {
    const count = readCount(value);
    if (count !== null) return count;
  }
  return null;
}

/** Returns the value if it is an object or array, otherwise an empty object, so that members can be accessed safely. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** A total split into its parts and the rest. */
interface SplitTotal {
  /** The remainder after all parts. */
  rest: number | null;
  parts: (number | null)[];
  /** False if the parts exceed the total, or if there are parts but no stated total. */
  consistent: boolean;
}

/**
 * Splits a provider's inclusive total into its stated parts and the rest, so that they sum to the total. If the parts exceed
 * the total, the total is kept, because it is what is billed: each part in turn is limited to what is left, and the caller
 * marks the usage as incomplete.
 */
export function splitTotal(total: number | null, parts: readonly (number | null)[]): SplitTotal {
  if (total === null)
    return { rest: null, parts: [...parts], consistent: parts.every((part) => part === null) };
  let left = total;
  let consistent = true;
  const taken = parts.map((part) => {
    if (part === null) return null;
    if (part > left) consistent = false;
    const share = Math.min(part, left);
    left -= share;
    return share;
  });
  return { rest: left, parts: taken, consistent };
}

/** Adds counts, treating null as 0. Returns null if the sum exceeds `MAX_COUNT`. */
export function addCounts(...counts: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const count of counts) sum += count ?? 0;
  return readCount(sum);
}
