import { type CostPart, type CostSplit, mapParts } from "../../core/pricing/cost-split.ts";
import type { Plan } from "../../core/values/plan.ts";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { UsageTotals } from "../../core/wire/usage-totals.ts";
import { formatShortUsd } from "../../pages/formats.ts";
import { TOKEN_SUMS } from "../store/rollups.ts";

/** The part of a sum that decides how its cost is formatted. */
export type CostedSum = Readonly<
  Pick<
    UsageTotals,
    "requests" | "unpriced_requests" | "cost_pico_usd" | CostPart["member"] | (typeof TOKEN_SUMS)[number]
  >
>;

/** Converts the costs of a sum to a split. */
export const toSplit = (sum: CostedSum): CostSplit => mapParts(({ member }) => BigInt(sum[member]));

/** Adds up all tokens of a sum. */
export const countTokens = (sum: Pick<CostedSum, (typeof TOKEN_SUMS)[number]>): number =>
  TOKEN_SUMS.reduce((total, name) => total + sum[name], 0);

/**
 * Formats one part of the cost of a sum: `unpriced` if no request has a known price, and a dash if the requests used no tokens, for
 * example since all of them failed.
 */
export function formatCost(sum: CostedSum, part: keyof CostSplit): string {
  if (sum.requests > 0 && sum.unpriced_requests === sum.requests) return "unpriced";
  const isUnused = sum.requests > 0 && BigInt(sum.cost_pico_usd) === 0n && countTokens(sum) === 0;
  return isUnused ? UNKNOWN : formatShortUsd(toSplit(sum)[part]);
}

/** Formats the UTC date of an instant. */
export function formatDate(instant: string | number): string {
  return (typeof instant === "number" ? formatInstant(instant) : instant).slice(0, 10);
}

/** Display names of the plans. */
export const PLAN_NAMES = {
  solo: "Solo",
  team: "Team",
  business: "Business+",
  enterprise: "Enterprise",
} as const satisfies Record<Plan, string>;
