import { formatQuantity } from "../../values/text/format-quantity.ts";
import type { TokenRates } from "../rates.ts";

/** The usage of one model by one project in a period. */
export interface ModelUsage {
  readonly provider: string;
  readonly model: string;
  readonly project: string | null;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly thinkingTokens: number;
  /** What was spent. The counts above include requests that a plan covers, or may cover. */
  readonly costPicoUsd: bigint;
  /** The cost of requests that a plan covers, at API prices. */
  readonly planUsagePicoUsd: bigint;
  /** The cost of requests with unknown billing, at API prices. */
  readonly unknownBillingPicoUsd: bigint;
  /** Current rates, pico-USD per token; null if none are known. */
  readonly rates: TokenRates | null;
}

/** Requests that repeated an earlier prompt to the same model word for word. The first request is not counted. */
export interface RepeatedPrompts {
  readonly provider: string;
  readonly model: string;
  readonly project: string | null;
  readonly requests: number;
  /** What was spent on them. */
  readonly costPicoUsd: bigint;
  /** The cost of those with unknown billing, at API prices. */
  readonly unknownBillingPicoUsd: bigint;
}

/** The kind of a finding; stable. */
export type SavingKind =
  | "repeated_prompt"
  | "cache_written_unread"
  | "prompt_uncached"
  | "thinking_dominates";

/** A finding: where money could be saved. */
export interface Saving {
  readonly kind: SavingKind;
  readonly provider: string;
  readonly model: string;
  readonly project: string | null;
  readonly requests: number;
  /** What was spent. */
  readonly costPicoUsd: bigint;
  /** The cost of requests with unknown billing, at API prices. It is part neither of the cost nor of the saving. */
  readonly unknownBillingPicoUsd: bigint;
  /** What could have been saved of the money spent. Null if it would be a guess. */
  readonly savingPicoUsd: bigint | null;
  readonly summary: string;
}

/** Minimum number of requests for a finding about a usage pattern. */
export const MIN_REQUESTS = 20;

/**
 * Minimum average fresh input, in tokens, for a finding about prompt caching. Decision: above the 1,024 tokens that
 * providers require.
 */
export const LONG_PROMPT_TOKENS = 2_000;

/** Minimum share of thinking in the output, in percent, for a finding about it. */
export const THINKING_SHARE_PERCENT = 80;

/**
 * Finds where money could be saved. Findings with a figure come first, largest saving first, then the others, highest cost
 * first. The usage of one model has at most one finding about prompt caches.
 */
export function findSavings(usage: readonly ModelUsage[], repeated: readonly RepeatedPrompts[]): Saving[] {
  const found = [...repeated.map(savingFromRepeats), ...usage.flatMap(savingsFromUsage)];
  return found.sort(
    (one, other) =>
      compare(other.savingPicoUsd ?? -1n, one.savingPicoUsd ?? -1n) ||
      compare(other.costPicoUsd, one.costPicoUsd) ||
      other.requests - one.requests ||
      compare(keyOf(one), keyOf(other)),
  );
}

function savingFromRepeats(repeated: RepeatedPrompts): Saving {
  const { requests, costPicoUsd, unknownBillingPicoUsd } = repeated;
  const areAllKnown = unknownBillingPicoUsd === 0n;
  const saved = areAllKnown ? "their cost" : "the cost of those billed by usage";
  return {
    ...repeated,
    kind: "repeated_prompt",
    savingPicoUsd: areAllKnown || costPicoUsd > 0n ? costPicoUsd : null,
    summary: `${formatQuantity(requests, "request")} repeated an earlier prompt word for word; cached responses would have saved ${saved}.`,
  };
}

function savingsFromUsage(usage: ModelUsage): Saving[] {
  const { provider, model, project, requests, costPicoUsd, planUsagePicoUsd, unknownBillingPicoUsd } = usage;
  const about = { provider, model, project, requests, costPicoUsd, unknownBillingPicoUsd };
  const findings: Saving[] = [];
  const loss = cacheLoss(usage);
  if (loss > 0n) {
    findings.push({
      ...about,
      kind: "cache_written_unread",
      // The tokens of calls that a plan covers, or may cover, are among those of the loss.
      savingPicoUsd: planUsagePicoUsd + unknownBillingPicoUsd > 0n ? null : loss,
      summary: "Writing to the prompt cache cost more than reading from it saved, at present rates.",
    });
  } else if (hasLongUncachedPrompts(usage)) {
    findings.push({
      ...about,
      kind: "prompt_uncached",
      savingPicoUsd: null,
      summary: "Long prompts were sent without using the provider's prompt cache.",
    });
  }
  const { thinkingTokens, completionTokens } = usage;
  const isMostlyThinking =
    thinkingTokens * 100 >= (thinkingTokens + completionTokens) * THINKING_SHARE_PERCENT;
  if (thinkingTokens > 0 && isMostlyThinking && requests >= MIN_REQUESTS) {
    findings.push({
      ...about,
      kind: "thinking_dominates",
      savingPicoUsd: null,
      summary: "Most of the output paid for is thinking; less effort, or a smaller model, may do.",
    });
  }
  return findings;
}

/**
 * Returns the cost of writing to the cache minus the savings from reading, in pico-USD; not positive if caching paid off or
 * the rates are unknown. One-hour writes are counted at the lower rate of short ones, so the real loss may be larger.
 */
function cacheLoss({ cacheReadTokens, cacheWriteTokens, rates }: ModelUsage): bigint {
  if (rates === null) return 0n;
  const { input, cacheRead, cacheWrite } = rates;
  if (input === null || cacheRead === null || cacheWrite === null) return 0n;
  const paidMore = BigInt(cacheWriteTokens) * BigInt(cacheWrite - input);
  return paidMore - BigInt(cacheReadTokens) * BigInt(input - cacheRead);
}

function hasLongUncachedPrompts(usage: ModelUsage): boolean {
  const { requests, promptTokens, cacheReadTokens, cacheWriteTokens, rates } = usage;
  if (requests < MIN_REQUESTS || cacheReadTokens + cacheWriteTokens > 0) return false;
  const isCheaperCached =
    rates !== null && rates.input !== null && rates.cacheRead !== null && rates.cacheRead < rates.input;
  return isCheaperCached && promptTokens >= requests * LONG_PROMPT_TOKENS;
}

/** Returns a key of a finding. It orders findings with equal amounts. */
const keyOf = ({ kind, provider, model, project }: Saving): string =>
  JSON.stringify([kind, provider, model, project]);

function compare<Value extends bigint | string>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
