import type { UsageMetric, UsageSumsJson } from "../../wire/usage.ts";

/** Sums of the token counts that providers stated. Null if no request stated the count. */
export interface TokenSums {
  prompt: bigint | null;
  cacheRead: bigint | null;
  cacheWrite: bigint | null;
  /** A part of `cacheWrite`. */
  cacheWrite1h: bigint | null;
  completion: bigint | null;
  thinking: bigint | null;
}

/** The sums of a group of requests. Spend, plan usage and unknown billing are never added up. */
export interface UsageSums {
  requests: number;
  failed: number;
  /** Refused by a budget. They are in `requests`. */
  blocked: number;
  unpriced: number;
  incomplete: number;
  /** Null if it was not counted. */
  estimated: number | null;
  /** Null if it was not counted. */
  unknownBilling: number | null;
  tokens: TokenSums;
  spentPicoUsd: bigint;
  planUsagePicoUsd: bigint;
  unknownBillingPicoUsd: bigint;
}

/** Returns the token counts of no requests. */
export const emptyTokenSums = (): TokenSums => ({
  prompt: null,
  cacheRead: null,
  cacheWrite: null,
  cacheWrite1h: null,
  completion: null,
  thinking: null,
});

/** Returns the sums of no requests. */
export const emptySums = (): UsageSums => ({
  requests: 0,
  failed: 0,
  blocked: 0,
  unpriced: 0,
  incomplete: 0,
  estimated: 0,
  unknownBilling: 0,
  tokens: emptyTokenSums(),
  spentPicoUsd: 0n,
  planUsagePicoUsd: 0n,
  unknownBillingPicoUsd: 0n,
});

const plus = (sum: bigint | null, more: bigint | null): bigint | null =>
  more === null ? sum : sum === null ? more : sum + more;

/** A count with an unknown part is unknown. */
const addCounts = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one + other;

/** Adds sums to others in place, since an answer adds up thousands. */
export function addToSums(sum: UsageSums, more: Readonly<UsageSums>): void {
  sum.requests += more.requests;
  sum.failed += more.failed;
  sum.blocked += more.blocked;
  sum.unpriced += more.unpriced;
  sum.incomplete += more.incomplete;
  sum.estimated = addCounts(sum.estimated, more.estimated);
  sum.unknownBilling = addCounts(sum.unknownBilling, more.unknownBilling);
  // Adding 0 would make a new number. Most rows have one of these costs.
  if (more.spentPicoUsd !== 0n) sum.spentPicoUsd += more.spentPicoUsd;
  if (more.planUsagePicoUsd !== 0n) sum.planUsagePicoUsd += more.planUsagePicoUsd;
  if (more.unknownBillingPicoUsd !== 0n) sum.unknownBillingPicoUsd += more.unknownBillingPicoUsd;
  const { tokens } = sum;
  tokens.prompt = plus(tokens.prompt, more.tokens.prompt);
  tokens.cacheRead = plus(tokens.cacheRead, more.tokens.cacheRead);
  tokens.cacheWrite = plus(tokens.cacheWrite, more.tokens.cacheWrite);
  tokens.cacheWrite1h = plus(tokens.cacheWrite1h, more.tokens.cacheWrite1h);
  tokens.completion = plus(tokens.completion, more.tokens.completion);
  tokens.thinking = plus(tokens.thinking, more.tokens.thinking);
}

/** Returns the sum of sums. */
export function sumOf(all: Iterable<Readonly<UsageSums>>): UsageSums {
  const sum = emptySums();
  for (const each of all) addToSums(sum, each);
  return sum;
}

const sumOfKnown = (...counts: readonly (bigint | null)[]): bigint | null => counts.reduce(plus, null);

/** Returns the value of a metric, or null if it is unknown. Of no requests, it is 0. */
export function metricOf(sums: Readonly<UsageSums>, metric: UsageMetric): bigint | null {
  const value = knownMetric(sums, metric);
  return value === null && sums.requests === 0 ? 0n : value;
}

function knownMetric(sums: Readonly<UsageSums>, metric: UsageMetric): bigint | null {
  const { tokens } = sums;
  switch (metric) {
    case "spent":
      return sums.spentPicoUsd;
    case "plan_usage":
      return sums.planUsagePicoUsd;
    case "unknown_billing":
      return sums.unknownBillingPicoUsd;
    case "requests":
      return BigInt(sums.requests);
    case "failed_requests":
      return BigInt(sums.failed);
    case "tokens":
      return sumOfKnown(
        tokens.prompt,
        tokens.cacheRead,
        tokens.cacheWrite,
        tokens.completion,
        tokens.thinking,
      );
    case "input_tokens":
      return sumOfKnown(tokens.prompt, tokens.cacheRead, tokens.cacheWrite);
    case "cache_read_tokens":
      return tokens.cacheRead;
    case "cache_write_tokens":
      return tokens.cacheWrite;
    case "output_tokens":
      return sumOfKnown(tokens.completion, tokens.thinking);
  }
}

/** Whether a metric is an amount of money, in pico-USD. */
export const isMoney = (metric: UsageMetric): boolean =>
  metric === "spent" || metric === "plan_usage" || metric === "unknown_billing";

/** Converts a count to a JSON number, which is exact below 2^53. */
const toNumber = (count: bigint | null): number | null =>
  count === null ? null : Math.min(Number(count), Number.MAX_SAFE_INTEGER);

/** Converts sums to their wire form. */
export const sumsJson = (sums: Readonly<UsageSums>): UsageSumsJson => ({
  requests: sums.requests,
  failed_requests: sums.failed,
  blocked_requests: sums.blocked,
  unpriced_requests: sums.unpriced,
  incomplete_requests: sums.incomplete,
  estimated_requests: sums.estimated,
  unknown_billing_requests: sums.unknownBilling,
  prompt_tokens: toNumber(sums.tokens.prompt),
  cache_read_tokens: toNumber(sums.tokens.cacheRead),
  cache_write_tokens: toNumber(sums.tokens.cacheWrite),
  cache_write_1h_tokens: toNumber(sums.tokens.cacheWrite1h),
  completion_tokens: toNumber(sums.tokens.completion),
  thinking_tokens: toNumber(sums.tokens.thinking),
  spent_pico_usd: sums.spentPicoUsd.toString(),
  plan_usage_pico_usd: sums.planUsagePicoUsd.toString(),
  unknown_billing_pico_usd: sums.unknownBillingPicoUsd.toString(),
});

const toBigInt = (count: number | null): bigint | null => (count === null ? null : BigInt(count));

/** Reads sums from their wire form, so that a page can compute with them. */
export const parseSums = (json: UsageSumsJson): UsageSums => ({
  requests: json.requests,
  failed: json.failed_requests,
  blocked: json.blocked_requests ?? 0,
  unpriced: json.unpriced_requests,
  incomplete: json.incomplete_requests,
  estimated: json.estimated_requests,
  unknownBilling: json.unknown_billing_requests,
  tokens: {
    prompt: toBigInt(json.prompt_tokens),
    cacheRead: toBigInt(json.cache_read_tokens),
    cacheWrite: toBigInt(json.cache_write_tokens),
    cacheWrite1h: toBigInt(json.cache_write_1h_tokens),
    completion: toBigInt(json.completion_tokens),
    thinking: toBigInt(json.thinking_tokens),
  },
  spentPicoUsd: BigInt(json.spent_pico_usd),
  planUsagePicoUsd: BigInt(json.plan_usage_pico_usd),
  unknownBillingPicoUsd: BigInt(json.unknown_billing_pico_usd),
});
