import type { Explanation } from "../explain-request.ts";
import { requestJson } from "./request-json.ts";

/** An explanation in the words of the wire. A rate in micro-USD for a million units is one in pico-USD for one. */
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
