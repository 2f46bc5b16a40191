import type { BillingMode, RequestKind, TokenCounts } from "../values/record.ts";
import type { Millis } from "../values/time.ts";

/** The usage of a request. */
export interface UsageToPrice {
  provider: string;
  /** The model named in the response. */
  model: string;
  requestedModel: string | null;
  at: Millis;
  tokens: TokenCounts;
  extras: Readonly<Record<string, number>> | null;
  serviceTier: string | null;
  /** The cost stated by the provider. */
  providerCostPicoUsd: bigint | null;
  requestKind: RequestKind;
  /** How the call is billed, if that is known. A free call without a rate costs nothing. */
  billingMode?: BillingMode | null;
}
