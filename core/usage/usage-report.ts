import type { TokenCounts } from "../record.ts";

/** What an answer says about its own failure; null for what it does not say. */
export interface ProviderError {
  type: string | null;
  code: string | null;
  message: string | null;
  /** The status that the body names; after a 200 this is the only one. */
  status: number | null;
}

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
}

/** Everything that was read out of one response. */
export interface UsageReport extends UsageFindings {
  error: ProviderError | null;
}
