/** The parts of a cost, with their words. The first is what was spent. */
export const COST_PARTS_SHORT = [
  ["spent_pico_usd", ""],
  ["plan_usage_pico_usd", " plan"],
  ["unknown_billing_pico_usd", " unknown"],
] as const;

/** A cost by who pays, in pico-USD as decimal strings. */
export type ShortCost = Readonly<Record<(typeof COST_PARTS_SHORT)[number][0], string>>;

/** Formats pico-USD with two decimals, or more for amounts below a cent. */
function formatUsd(picoUsd: bigint): string {
  const cents = (picoUsd + 5_000_000_000n) / 10_000_000_000n;
  if (cents === 0n && picoUsd > 0n) return "<$0.01";
  return `$${cents / 100n}.${String(cents % 100n).padStart(2, "0")}`;
}

/** Formats the parts of a cost that are not 0, such as `$1.20 + $3.40 plan`. */
export function formatParts(sums: ShortCost): string {
  const parts = COST_PARTS_SHORT.flatMap(([member, word]) => {
    const cost = BigInt(sums[member]);
    return cost === 0n ? [] : [formatUsd(cost) + word];
  });
  return parts.length === 0 ? "$0.00" : parts.join(" + ");
}
