import type { Explanation } from "../../core/pricing/explain-request.ts";
import { requestJson } from "./request-json.ts";

/** Converts an explanation to its wire form. A rate in micro-USD per million units equals the rate in pico-USD per unit. */
export function explanationJson({ request, priced, agrees, rate }: Explanation) {
  return {
    request: requestJson(request),
    agrees,
    rate,
    lines: priced.lines.map((line) => ({
      label: line.label,
      quantity: line.quantity,
      per_unit: line.perUnit,
      list_rate_pico_usd: line.listRate.toString(),
      rate_pico_usd: line.rate.toString(),
      cost_pico_usd: line.costPicoUsd.toString(),
    })),
    computed_pico_usd: priced.computedPicoUsd?.toString() ?? null,
    unpriced_reason: priced.unpricedReason,
  };
}
