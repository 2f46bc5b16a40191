import type { Millis } from "../../values/time.ts";

/**
 * What the provider says of a window: `allowed`, `warning` (a mark that it chose is passed) or `exceeded` (calls are refused, or
 * paid otherwise).
 */
export const LIMIT_STATUSES = ["allowed", "warning", "exceeded"] as const;
export type LimitStatus = (typeof LIMIT_STATUSES)[number];

/** What a window counts. `share`: the provider states only the used share. `micro_usd`: millionths of a US dollar. */
export const LIMIT_UNITS = [
  "share",
  "requests",
  "tokens",
  "input_tokens",
  "output_tokens",
  "credits",
  "micro_usd",
] as const;
export type LimitUnit = (typeof LIMIT_UNITS)[number];

/** What identifies a window of an account. Its place in a response does not: providers change the order. */
export interface LimitWindow {
  /**
   * The name by length, such as `5h`, `7d` or `1mo`. Without a stated length: `rate` (a rate limit that refills), `overage` and
   * `credits` (paid use beyond a plan), `session`, `quota` and `total`; `plan` is an exhausted window that the provider did not name.
   */
  readonly window: string;
  /** The models or the feature that the window is limited to; null for all. */
  readonly scope: string | null;
  readonly unit: LimitUnit;
}

/** A limit as one response states it. Null is unknown. */
export interface StatedLimit extends LimitWindow {
  readonly windowMs: number | null;
  /** The used share in millionths. Providers round it, and may state more than 1,000,000. */
  readonly usedPpm: number | null;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: Millis | null;
  readonly status: LimitStatus | null;
}

/** A stated limit with its account and time. */
export interface LimitReading extends StatedLimit {
  readonly provider: string;
  /** A keyed hash that distinguishes accounts on this installation; null if the account is unknown. */
  readonly account: string | null;
  readonly seenAt: Millis;
}

/** The whole of a window, in millionths. */
export const WHOLE_PPM = 1_000_000;

/** Maximum number of limits that are read of one response. */
export const MAX_LIMITS = 32;

/** Returns a limit with only its window known. */
export const unknownLimit = (
  window: string,
  windowMs: number | null,
  { scope = null, unit = "share" }: Partial<Pick<LimitWindow, "scope" | "unit">> = {},
): StatedLimit => ({
  window,
  windowMs,
  scope,
  unit,
  usedPpm: null,
  limit: null,
  remaining: null,
  resetAt: null,
  status: null,
});

/** Returns the key of a window within its account. */
export const windowKey = ({ window, scope, unit }: LimitWindow): string =>
  `${window}\n${scope ?? ""}\n${unit}`;

/** Keeps the first limit of each window, and at most `MAX_LIMITS`. */
export function distinctLimits(limits: readonly StatedLimit[]): StatedLimit[] {
  const known = new Map<string, StatedLimit>();
  for (const limit of limits) {
    const key = windowKey(limit);
    if (!known.has(key) && known.size < MAX_LIMITS) known.set(key, limit);
  }
  return [...known.values()];
}
