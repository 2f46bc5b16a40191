import { formatRateText, type PriceBook, type PricedUsage, priceUsage } from "../core/pricing/mod.ts";
import type { StoredRequest } from "./store/mod.ts";

/** One request with everything that led to its cost; snake case, as `--json` prints it. */
export interface Explanation {
  request: StoredRequest;
  /** The price as the rates of today's book give it for the time of the request. */
  priced: PricedUsage;
  /** Whether that is the stored cost; where not, `recompute-costs` would change it. */
  agrees: boolean;
  /** The row that applied, in words. */
  rate: string | null;
}

/** Prices a stored request again and holds the result against what is stored. */
export function explainRequest(request: StoredRequest, book: PriceBook): Explanation {
  const priced = priceUsage(
    {
      provider: request.provider,
      model: request.model,
      requestedModel: request.requestedModel,
      requestKind: request.requestKind,
      at: request.requestedAt,
      tokens: request.tokens,
      extras: request.usageExtras,
      serviceTier: request.serviceTier,
      providerCostPicoUsd: request.providerCostPicoUsd,
    },
    book,
  );
  const { row } = priced;
  return {
    request,
    priced,
    agrees: priced.costPicoUsd === request.costPicoUsd,
    rate:
      row === null
        ? null
        : `${row.provider} ${row.model}, ${row.source} rates of ${row.provenanceDate}` +
          (priced.tier === null ? "" : `, above ${priced.tier.aboveTokens} input tokens`),
  };
}

/** A rate for people: USD per million, the shortest decimal text. */
export function ratePerMillion(microUsd: number): string {
  return `$${formatRateText(microUsd)}`;
}
