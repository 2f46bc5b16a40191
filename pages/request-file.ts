import type { Explanation } from "../core/pricing/explain-request.ts";

/**
 * Converts the calculation of a request's cost to JSON. A rate in micro-USD per million units equals the rate in pico-USD per
 * unit.
 */
export const calculationJson = ({ priced, agrees, rate }: Omit<Explanation, "request">) => ({
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
});
