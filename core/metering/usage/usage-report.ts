import type { RequestKind, TokenCounts } from "../../values/record.ts";

/** The error stated in a response. A field is null if it is absent. */
export interface ProviderError {
  type: string | null;
  code: string | null;
  message: string | null;
  /** The error status stated in the body. After a 200, this is the only error status. */
  status: number | null;
}

/**
 * Why a response makes no record of its own. `unfinished`: the work is still in progress (a polled background response).
 * `results`: it only contains the results of other requests (a batch). `not_new`: it repeats a response that was already
 * metered, or it is a failed fetch. `no_usage`: the path also serves what is not a language model, and nothing shows that
 * this response is one's.
 */
export type NoRecordReason = "unfinished" | "results" | "not_new" | "no_usage";

/** The usage stated in the body of a response. */
export interface UsageFindings {
  tokens: TokenCounts;
  /** Whether the billed totals are known. A breakdown that the API never states is not required. */
  tokensComplete: boolean;
  /** The model named in the response. */
  model: string | null;
  responseId: string | null;
  serviceTier: string | null;
  /** Counts that affect the price in addition to the five token counts, by their names in `USAGE_EXTRAS` of `core/pricing`. Never 0. */
  extras: Record<string, number>;
  /** Whether credits pay, because the plan's limit was used up. Absent if the response does not tell. */
  usesCredits?: boolean;
  /** The latest event about limits, as `readCodexEvent()` reads it. Absent if there is none. */
  limitEvent?: unknown;
  /** The cost stated by the provider, in pico-USD. */
  providerCostPicoUsd: bigint | null;
  /** Usage members that the reader does not support, as a JSON object of at most 2 KiB. */
  unknownUsage: string | null;
  /** Present if the response starts work whose usage a later response states under the same id. */
  startsJob?: true;
  /** Present if the response itself makes no record. Its `results` may still make records. */
  noRecord?: NoRecordReason;
  /**
   * Reports that each make their own record, in addition to the response's record or instead of it: the results of a batch,
   * or the usage of another model involved in the call. Each has its own `responseId`, so that it is counted once.
   */
  results?: readonly UsageReport[];
  /** The kind of a result, if it differs from the request that fetched it. */
  requestKind?: RequestKind;
}

/** Everything read from one response. */
export interface UsageReport extends UsageFindings {
  error: ProviderError | null;
  /** The `error` object of a response that may state a limit, as `readErrorLimits()` reads it. Absent if there is none. */
  limitError?: unknown;
}
