import type { TokenRates } from "../pricing/mod.ts";

/** What one model was used for by one project in a period. */
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
  readonly costPicoUsd: bigint;
  /** Present rates, pico-USD per token; null where none are known. */
  readonly rates: TokenRates | null;
}

/** Requests that asked one model exactly what had been asked before, word for word; the first asking is not among them. */
export interface RepeatedPrompts {
  readonly provider: string;
  readonly model: string;
  readonly project: string | null;
  readonly requests: number;
  readonly costPicoUsd: bigint;
}

/** A stable word for each kind of finding. */
export type SavingKind =
  | "repeated_prompt"
  | "cache_written_unread"
  | "prompt_uncached"
  | "thinking_dominates";

/** Where money could be saved, and what it is about. */
export interface Saving {
  readonly kind: SavingKind;
  readonly provider: string;
  readonly model: string;
  readonly project: string | null;
  readonly requests: number;
  readonly costPicoUsd: bigint;
  /** Null where it would be a guess. */
  readonly savingPicoUsd: bigint | null;
  readonly summary: string;
}

/** Fewer requests are no habit. */
export const MIN_REQUESTS = 20;

/** Average fresh input, tokens, from which a provider's prompt cache pays. Decision: above the 1,024 that providers ask for. */
export const LONG_PROMPT_TOKENS = 2_000;

/** Share of the visible and hidden output, per cent, from which thinking is what is paid for. */
export const THINKING_SHARE_PERCENT = 80;

/**
 * Finds where money could be saved, the greatest saving first, then those that can't be put in numbers, the costliest
 * first. Nothing is found twice: of the findings about prompt caches one model's usage has one at most.
 */
export function findSavings(usage: readonly ModelUsage[], repeated: readonly RepeatedPrompts[]): Saving[] {
  const found = [...repeated.map(ofRepeats), ...usage.flatMap(ofUsage)];
  return found.sort(
    (one, other) =>
      compare(other.savingPicoUsd ?? -1n, one.savingPicoUsd ?? -1n) ||
      compare(other.costPicoUsd, one.costPicoUsd) ||
      other.requests - one.requests,
  );
}

function ofRepeats({ provider, model, project, requests, costPicoUsd }: RepeatedPrompts): Saving {
  return {
    kind: "repeated_prompt",
    provider,
    model,
    project,
    requests,
    costPicoUsd,
    savingPicoUsd: costPicoUsd,
    summary: `${requests} requests repeated an earlier prompt word for word; kept answers would have saved their cost.`,
  };
}

function ofUsage(usage: ModelUsage): Saving[] {
  const { provider, model, project, requests, costPicoUsd } = usage;
  const about = { provider, model, project, requests, costPicoUsd };
  const findings: Saving[] = [];
  const loss = cacheLoss(usage);
  if (loss > 0n) {
    findings.push({
      ...about,
      kind: "cache_written_unread",
      savingPicoUsd: loss,
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
 * What caching cost beyond what it saved, pico-USD; zero or less where it paid or can't be told. Writes for the longer
 * time are counted at the shorter one's rate, so the loss is no less than this.
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

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
