import type { Transaction } from "kysely";
import type { Budget } from "../../core/budgets/budget.ts";
import { budgetPeriod, type PeriodBounds } from "../../core/budgets/budget-period.ts";
import { parseFleetBudget } from "../../core/budgets/parse-fleet-budget.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant, formatInstantOrNull } from "../../core/wire/instant.ts";
import type { StoredBudget } from "../store/budgets.ts";
import { type BudgetTotals, sumBudget, totalsFor } from "../store/reads/budget-sums.ts";
import type { CloudSchema } from "../store/schema.ts";
import type { SumCache } from "./sum-cache.ts";

/** A budget with its sum in the current period. */
export interface BudgetStanding {
  readonly stored: StoredBudget;
  readonly budget: Budget;
  readonly bounds: PeriodBounds;
  readonly totals: BudgetTotals;
}

/**
 * Reads the sums of budgets, with the part of one machine. With a cache, the sums are up to `SUM_CACHE_MS` old. A budget that a newer
 * version stored is left out.
 */
export async function readStandings(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  budgets: readonly StoredBudget[],
  machineId: string | null,
  now: Millis,
  cache?: SumCache,
): Promise<readonly BudgetStanding[]> {
  const standings: BudgetStanding[] = [];
  for (const stored of budgets) {
    const parsed = parseFleetBudget({ ...stored.terms, name: stored.name }, { zone: "UTC" });
    if (!parsed.ok) continue;
    const { budget } = parsed;
    const bounds = budgetPeriod(budget, now);
    const load = () => sumBudget(trx, workspaceId, stored, budget, bounds, now);
    const key = JSON.stringify([workspaceId, stored.budgetId, budget.unit, bounds.from]);
    const sums = await (cache === undefined ? load() : cache.read(key, load));
    standings.push({ stored, budget, bounds, totals: totalsFor(sums, machineId) });
  }
  return standings;
}

/** Returns what a budget has used in all. */
export const usedOf = ({ totals }: Pick<BudgetStanding, "totals">): bigint => totals.here + totals.elsewhere;

/** Returns the members that the answers for people and for machines have in common. */
export function toStatedBudget({ stored, budget, bounds }: BudgetStanding) {
  const { name, subject, target, terms, isPaused, liftedUntil } = stored;
  const { period, thresholds, atLimit, reserve, fail } = budget;
  return {
    name,
    subject,
    target,
    amount: `${terms.amount}`,
    period: period.kind,
    zone: "zone" in period ? period.zone : null,
    thresholds: [...thresholds],
    at_limit: atLimit,
    reserve,
    fail,
    paused: isPaused,
    lifted_until: formatInstantOrNull(liftedUntil),
    period_from: formatInstant(bounds.from),
  };
}
