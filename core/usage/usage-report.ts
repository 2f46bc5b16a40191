import type { RequestKind, TokenCounts } from "../record.ts";

/** What an answer says about its own failure; null for what it does not say. */
export interface ProviderError {
  type: string | null;
  code: string | null;
  message: string | null;
  /** The status that the body names; after a 200 this is the only one. */
  status: number | null;
}

/**
 * Why an answer makes no record of its own: `unfinished` only says that the work is under way (a background response that
 * is polled), `results` does nothing but carry others' results (those of a batch), `not_new` repeats an answer that was
 * metered when it was made, or reports a fetch that failed.
 */
export type NoRecordReason = "unfinished" | "results" | "not_new";

/** What a response's body says about usage. */
export interface UsageFindings {
  tokens: TokenCounts;
  /** Whether the totals that are billed are known; a split that the API never states does not matter here. */
  tokensComplete: boolean;
  /** The model as answered. */
  model: string | null;
  responseId: string | null;
  serviceTier: string | null;
  /** Counts that change the price besides the five, under the names of `USAGE_EXTRAS` in `core/pricing`; none is 0. */
  extras: Record<string, number>;
  /** The cost that the provider itself states, pico-USD. */
  providerCostPicoUsd: bigint | null;
  /** Usage members that the reader does not know, as a JSON object of at most 2 KiB. */
  unknownUsage: string | null;
  /** Given where the answer itself makes no record; `results` may make some all the same. */
  noRecord?: NoRecordReason;
  /**
   * Parts that make a record each, beside that of the answer or instead of it: the results of a batch, the sampling of
   * another model that the call went through. Each has a `responseId` of its own, so that it is counted once.
   */
  results?: readonly UsageReport[];
  /** What a result was, where it differs from the kind of the request that fetched it. */
  requestKind?: RequestKind;
}

/** Everything that was read out of one response. */
export interface UsageReport extends UsageFindings {
  error: ProviderError | null;
}
