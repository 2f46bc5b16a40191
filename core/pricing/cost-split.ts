import type { BillingMode } from "../values/record.ts";

/** The cost of calls by who pays for it, in pico-USD. Only the first is money that was charged by usage. */
export interface CostSplit {
  /** Billed by usage: `metered`, `credits` and `free` calls. */
  readonly spentPicoUsd: bigint;
  /** Calls covered by a plan, at API prices. Never part of what was spent. */
  readonly planUsagePicoUsd: bigint;
  /** Calls with unknown billing: they may have been billed by usage or covered by a plan. */
  readonly unknownBillingPicoUsd: bigint;
}

/** A part of a split, with its names in JSON and in tables. */
export interface CostPart {
  readonly part: keyof CostSplit;
  readonly member: "spent_pico_usd" | "plan_usage_pico_usd" | "unknown_billing_pico_usd";
  readonly label: string;
}

/** All parts. Tables always show the first, and the others if there are such calls. */
export const COST_PARTS: readonly CostPart[] = [
  { part: "spentPicoUsd", member: "spent_pico_usd", label: "Spent" },
  { part: "planUsagePicoUsd", member: "plan_usage_pico_usd", label: "Plan usage" },
  { part: "unknownBillingPicoUsd", member: "unknown_billing_pico_usd", label: "Unknown billing" },
];

/** The part of a split that a billing mode belongs to. */
export const SPLIT_PARTS = {
  metered: "spentPicoUsd",
  credits: "spentPicoUsd",
  free: "spentPicoUsd",
  plan: "planUsagePicoUsd",
  unknown: "unknownBillingPicoUsd",
} as const satisfies Readonly<Record<BillingMode, keyof CostSplit>>;

/** SQL for the billing modes of a part: quoted, and separated by commas. */
export const billingModesSql = (part: keyof CostSplit): string =>
  Object.entries(SPLIT_PARTS)
    .flatMap(([mode, own]) => (own === part ? [`'${mode}'`] : []))
    .join(", ");

/** Explains each billing mode. */
export const BILLING_TEXTS: Readonly<Record<BillingMode, string>> = {
  metered: "billed by usage (API key)",
  credits: "billed by usage, beyond the limit of a plan",
  free: "free",
  plan: "covered by a plan; the cost is at API prices, and is not part of what was spent",
  unknown: "unknown: billed by usage or covered by a plan",
};

/** The split of nothing. */
export const NO_COST: CostSplit = { spentPicoUsd: 0n, planUsagePicoUsd: 0n, unknownBillingPicoUsd: 0n };

/** Returns the split under its names in JSON, with exact decimal strings. */
export function splitJson(split: CostSplit): Record<CostPart["member"], string> {
  return Object.fromEntries(COST_PARTS.map(({ part, member }) => [member, split[part].toString()])) as Record<
    CostPart["member"],
    string
  >;
}

/** Returns the cost at API prices: spend, plan usage and unknown billing. For order and comparison only: it was charged to no account. */
export const sumOfSplit = (split: CostSplit): bigint =>
  split.spentPicoUsd + split.planUsagePicoUsd + split.unknownBillingPicoUsd;

/** Returns the split with a cost added. */
export function addToSplit(split: CostSplit, mode: BillingMode, costPicoUsd: bigint): CostSplit {
  const part = SPLIT_PARTS[mode];
  return { ...split, [part]: split[part] + costPicoUsd };
}

/** Returns the parts that a table shows. */
export function shownParts(hasCalls: (part: keyof CostSplit) => boolean): readonly CostPart[] {
  return COST_PARTS.filter(({ part }, index) => index === 0 || hasCalls(part));
}

/**
 * Returns the split as a line: `Spent $12.10 · plan usage worth $231.40 at API prices`. Parts without a cost are left out,
 * except the first.
 */
export function describeSplit(split: CostSplit, formatUsd: (picoUsd: bigint) => string): string {
  const parts = [`Spent ${formatUsd(split.spentPicoUsd)}`];
  if (split.planUsagePicoUsd > 0n)
    parts.push(`plan usage worth ${formatUsd(split.planUsagePicoUsd)} at API prices`);
  if (split.unknownBillingPicoUsd > 0n)
    parts.push(`${formatUsd(split.unknownBillingPicoUsd)} with unknown billing`);
  return parts.join(" · ");
}
