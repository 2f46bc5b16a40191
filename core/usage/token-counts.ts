import type { TokenCounts } from "../record.ts";

/** The counts of an answer that states none. */
export const NO_TOKENS: TokenCounts = Object.freeze({
  promptTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  cacheWrite1hTokens: null,
  completionTokens: null,
  thinkingTokens: null,
});

/**
 * The most that one count may state. Decision: about a million times what a call holds today, and small enough that
 * SQLite's 64-bit `sum()` can't overflow below eight million such rows.
 */
export const MAX_COUNT = 2 ** 40;

/** A count as a provider states it: an integer from 0 to `MAX_COUNT`. Anything else is "not stated", hence null. */
export function readCount(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT
    ? value
    : null;
}

/** The first of the values that is a count. */
export function firstCount(...values: readonly unknown[]): number | null {
  for (const value of values) {
    const count = readCount(value);
    if (count !== null) return count;
  }
  return null;
}

/** The value as an object whose members may be looked at; an empty one for everything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** Whether the value is an object and no array: what a usage object must be to count as sent. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A total taken apart. */
export interface SplitTotal {
  /** What no part accounts for. */
  rest: number | null;
  parts: (number | null)[];
  /** False where the parts exceed the total, or where there are parts of a total that is not stated. */
  consistent: boolean;
}

/**
 * Takes a provider's inclusive total apart into its stated parts and the rest, so that rest and parts sum to the total.
 * Parts that exceed the total contradict it: the total is what is billed, so it is kept, each part in turn gets at most
 * what is left of it, and the caller marks the usage as not complete.
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

/** Adds counts of which some may not be stated; a sum beyond what one may state is not stated either. */
export function addCounts(...counts: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const count of counts) sum += count ?? 0;
  return readCount(sum);
}
