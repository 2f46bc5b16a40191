import { formatUsd } from "../pricing/money.ts";
import { formatCount } from "../values/text/format-count.ts";
import { type Budget, type BudgetUnit, SCOPE_KEYS } from "./budget.ts";

/** Formats an amount for people: `$12.50`, `2,000,000 tokens`, `1 request`. */
export function formatBudgetAmount(unit: BudgetUnit, amount: bigint): string {
  if (unit === "usd") return formatUsd(amount);
  const word = amount === 1n ? unit.slice(0, -1) : unit;
  return `${formatCount(amount)} ${word}`;
}

/** Whether a budget counts what a plan covers, at API prices, which is not spent. */
export const isAtApiPrices = ({ unit, scope }: Pick<Budget, "unit" | "scope">): boolean =>
  unit === "usd" && (scope.billing?.includes("plan") ?? false);

/** Describes which calls a budget counts: `project shop, model claude-*`. */
export function describeScope({ scope }: Pick<Budget, "scope">): string {
  const parts = SCOPE_KEYS.flatMap((key) => {
    const values = scope[key];
    return values === undefined ? [] : [`${key} ${values.join(" or ")}`];
  });
  return parts.length === 0 ? "all calls" : parts.join(", ");
}

/** Returns the used share in percent, rounded down; 100 for an amount of 0. */
export const usedPercent = (limit: bigint, used: bigint): number =>
  limit === 0n ? 100 : Number((used * 100n) / limit);
