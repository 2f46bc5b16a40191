import type { Plan } from "../../core/plans/mod.ts";
import { divideHalfEven } from "../../core/pricing/mod.ts";
import { formatInstant, type UsageTotals } from "../../core/wire/mod.ts";
import { TOKEN_SUMS } from "../store/rollups.ts";

const PICO_DIGITS = 12;

/** One cent. */
const CENT_PICO_USD = 10n ** 10n;

/** A cost for people: in cents, below one in hundredths of them; what rounds to nothing and is more says so. */
export function formatUsd(picoUsd: bigint): string {
  const places = picoUsd !== 0n && picoUsd < CENT_PICO_USD ? 4 : 2;
  const rounded = divideHalfEven(picoUsd, 10n ** BigInt(PICO_DIGITS - places));
  if (rounded === 0n && picoUsd > 0n) return `<$${(1 / 10 ** places).toFixed(places)}`;
  const digits = rounded.toString().padStart(places + 1, "0");
  return `$${formatCount(digits.slice(0, -places))}.${digits.slice(-places)}`;
}

/** What of a sum decides how its cost is written. */
export type CostedSum = Readonly<
  Pick<UsageTotals, "requests" | "unpriced_requests" | "cost_pico_usd" | (typeof TOKEN_SUMS)[number]>
>;

/** All tokens of a sum. */
export const tokensOf = (sum: Pick<CostedSum, (typeof TOKEN_SUMS)[number]>): number =>
  TOKEN_SUMS.reduce((total, name) => total + sum[name], 0);

/**
 * The cost of so many requests, of which so many have no known price; where none has, no figure would be true. A dash where
 * nothing was counted, as of requests that failed.
 */
export function formatCost(sum: CostedSum): string {
  if (sum.requests > 0 && sum.unpriced_requests === sum.requests) return "unpriced";
  const picoUsd = BigInt(sum.cost_pico_usd);
  return sum.requests > 0 && picoUsd === 0n && tokensOf(sum) === 0 ? "–" : formatUsd(picoUsd);
}

/** A count with thousands set apart. */
export function formatCount(value: number | bigint | string): string {
  return value.toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** The date of an instant, in UTC. */
export function dateOf(instant: string | number): string {
  return (typeof instant === "number" ? formatInstant(instant) : instant).slice(0, 10);
}

/** Plans as people call them. */
export const PLAN_NAMES = {
  solo: "Solo",
  team: "Team",
  business: "Business+",
  enterprise: "Enterprise",
} as const satisfies Record<Plan, string>;
