import type { ActiveBudget, Budget, CallUse } from "../../../core/budgets/budget.ts";
import type { BudgetEffect, BudgetEvent } from "../../../core/budgets/budget-events.ts";
import { budgetTransition } from "../../../core/budgets/budget-machine.ts";
import { type BudgetsState, initialBudgetsState } from "../../../core/budgets/budget-state.ts";
import type { Millis } from "../../../core/values/time.ts";

/** A time in the middle of a day in UTC. */
export const NOON: Millis = Date.UTC(2026, 10, 18, 12);

export const USD = 1_000_000_000_000n;

/** A budget of 10 USD a day that blocks. */
export const budgetOf = (details: Partial<Budget> = {}): Budget => ({
  name: "daily",
  scope: {},
  unit: "usd",
  limit: 10n * USD,
  period: { kind: "day", zone: "UTC" },
  thresholds: [50, 80, 100],
  atLimit: "block",
  onExceed: "finish",
  reserve: false,
  fail: "open",
  coolDownMs: null,
  ...details,
});

export const activeOf = (budget: Budget, details: Partial<ActiveBudget> = {}): ActiveBudget => ({
  budget,
  isPaused: false,
  liftedUntil: null,
  ...details,
});

export const metered = { billing: "metered", project: "shop", model: "m", session: "s" };

/** The usage of this number of US cents. */
export const cents = (count: number): CallUse => ({
  costPicoUsd: (BigInt(count) * USD) / 100n,
  tokens: count,
});

/** Applies events at a time, and answers `load_sums` with no records. */
export function apply(
  state: BudgetsState,
  events: readonly BudgetEvent[],
  now: Millis,
): { state: BudgetsState; effects: BudgetEffect[] } {
  const effects: BudgetEffect[] = [];
  let current = state;
  const queue = [...events];
  for (let event = queue.shift(); event !== undefined; event = queue.shift()) {
    const step = budgetTransition(current, event, now);
    current = step.state;
    for (const effect of step.effects) {
      effects.push(effect);
      if (effect.kind === "load_sums" && effect.key === null)
        queue.unshift({ kind: "sums_loaded", budget: effect.budget, key: null, sums: [] });
    }
  }
  return { state: current, effects };
}

/** Returns the state of budgets without records. */
export const stateOf = (budgets: readonly Budget[], now: Millis = NOON): BudgetsState =>
  apply(initialBudgetsState, [{ kind: "budgets_set", budgets: budgets.map((each) => activeOf(each)) }], now)
    .state;

export const booked = (use: CallUse, at: Millis = NOON, facts = metered): BudgetEvent => ({
  kind: "calls_booked",
  added: [{ ...use, at, facts }],
  removed: [],
});

export const admitted = (call: string, bound: CallUse, facts = metered): BudgetEvent => ({
  kind: "call_admitted",
  call,
  facts,
  bound,
});
