import {
  type CostLine,
  formatPicoUsd,
  formatRateText,
  type PriceBook,
  type PricedUsage,
  priceUsage,
  USAGE_EXTRAS,
} from "../core/pricing/mod.ts";
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

/** How many milliseconds make the unit of what is priced by the hour. */
const HOUR = 3_600_000;

/** How much of it, with its thousands set apart. */
export function quantityInWords({ quantity, perUnit }: CostLine): string {
  const text = quantity.toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
  return perUnit === HOUR ? `${text} ms` : text;
}

/** A rate as its price list has it: for a million tokens, for one of what is billed by itself, or for an hour. */
export function rateInWords({ label, perUnit }: CostLine, rate: number): string {
  // Micro-USD for a million is pico-USD for one.
  if (perUnit === HOUR) return `$${formatPicoUsd(BigInt(rate))} an hour`;
  return billedApart.has(label) ? `$${formatPicoUsd(BigInt(rate))} each` : `$${formatRateText(rate)} / M`;
}

/** The labels of what is counted and billed one by one. */
const billedApart: ReadonlySet<string> = new Set([
  "request",
  ...Object.entries(USAGE_EXTRAS)
    .filter(([name, { partOf }]) => partOf === null && !name.endsWith("_tokens"))
    .map(([, { label }]) => label),
]);
