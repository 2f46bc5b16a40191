import type { Millis } from "./time.ts";

/**
 * The five disjoint token counts: no token stands in two fields, `cacheWrite1hTokens` excepted, which is a part of
 * `cacheWriteTokens`. `null` means that the provider did not state the count; it is never a stand-in for 0.
 * Source: decisions, "Tokens and money".
 */
export interface TokenCounts {
  /** Fresh input: neither read from nor written to a cache. */
  promptTokens: number | null;
  cacheReadTokens: number | null;
  /** Input written to a cache, whatever its time to live. */
  cacheWriteTokens: number | null;
  /** The part of `cacheWriteTokens` written with the one-hour time to live. */
  cacheWrite1hTokens: number | null;
  /** Visible output. */
  completionTokens: number | null;
  /** Reasoning output, billed at the output rate. */
  thinkingTokens: number | null;
}

/** What a request asked for. Source: decisions, "Metadata batch". */
export type RequestKind = "chat" | "embedding" | "image" | "audio" | "other";

/** How a cost was found. Source: decisions, "Tokens and money". */
export type CostSource = "computed" | "provider" | "estimated" | "unpriced";

/** Where a rate row came from. Source: contract, "Pricing rates". */
export type RateSource = "bundled" | "auto" | "operator";

/** The error vocabulary of the wire. Source: contract, "Error-classification fields". */
export type ErrorClass =
  | "rate_limit"
  | "server_error"
  | "bad_request"
  | "auth"
  | "timeout"
  | "network"
  | "unknown";

/** One metered request: what the daemon writes, one row each. Times are UTC; money is integer pico-USD (10^-12 USD). */
export interface RequestRecord {
  /** UUID, version 7 when ours. */
  requestId: string;
  requestedAt: Millis;
  provider: string;
  /** The model as answered; the requested one where the answer names none; `unknown` where nobody does. */
  model: string;
  requestedModel: string | null;
  requestKind: RequestKind;
  streaming: boolean;
  tokens: TokenCounts;
  /** False where the provider's usage is missing or a stream ended early. */
  tokensComplete: boolean;
  costPicoUsd: bigint | null;
  costSource: CostSource;
  /** The cost that the provider itself stated. */
  providerCostPicoUsd: bigint | null;
  ratesSource: RateSource | null;
  serviceTier: string | null;
  /** Counts besides tokens that change the price: modalities, server tools. */
  usageExtras: Readonly<Record<string, number>> | null;
  /** First request byte read to last response byte written, on a monotonic clock. */
  latencyMs: number;
  /** First request byte read to first response byte. */
  ttfbMs: number | null;
  httpStatus: number | null;
  errorClass: ErrorClass | null;
  providerErrorCode: string | null;
  retryable: boolean | null;
  /** SHA-256 (hex) of the provider's error message. Local only, never sent. */
  errorMessageHash: string | null;
  /** Normalised slug. */
  project: string;
  attributionTier: string;
  /** SHA-256 (hex) of the canonical prompt. */
  promptHash: string | null;
  method: string;
  /** Without the query. */
  path: string;
  sourceWorkdir: string | null;
  /** Local only: the provider's host. */
  host: string;
  /** Local only: which reader read it, such as `anthropic.messages`. */
  api: string;
  /** Local only: the provider's own id of the response. */
  providerResponseId: string | null;
  /**
   * Local only: whether the provider hands this response out again, so that it may be met twice: what runs in the
   * background, the results of a batch.
   */
  responseIsKept?: boolean;
  /** Local only: name of the program that called. */
  client: string | null;
}
