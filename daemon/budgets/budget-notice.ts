import type { Budget } from "../../core/budgets/budget.ts";
import type { BudgetEffect } from "../../core/budgets/budget-events.ts";
import type { PeriodBounds } from "../../core/budgets/budget-period.ts";
import type { Millis } from "../../core/values/time.ts";

/** A notice about a budget. `key` is the session of a budget per session, otherwise empty. */
export type BudgetNotice = { readonly budget: Budget; readonly key: string } & (
  | {
      /** `budget.exceeded` from 100 %. */
      readonly event: "budget.warning" | "budget.exceeded";
      readonly threshold: number;
      readonly used: bigint;
      readonly bounds: PeriodBounds;
    }
  | {
      readonly event: "budget.forecast";
      readonly used: bigint;
      readonly bounds: PeriodBounds;
      readonly goneAt: Millis;
    }
  | { readonly event: "budget.guard_tripped"; readonly used: bigint; readonly until: Millis }
  | { readonly event: "budget.lifted"; readonly until: Millis }
  | { readonly event: "budget.lift_ended" }
);

/** Returns the notice of an effect. */
export function noticeOf(budget: Budget, effect: Exclude<BudgetEffect, { kind: "load_sums" }>): BudgetNotice {
  switch (effect.kind) {
    case "warn": {
      const { key, threshold, used, bounds } = effect;
      const event = threshold >= 100 ? "budget.exceeded" : "budget.warning";
      return { event, budget, key, threshold, used, bounds };
    }
    case "warn_forecast": {
      const { key, used, bounds, goneAt } = effect;
      return { event: "budget.forecast", budget, key, used, bounds, goneAt };
    }
    case "trip_guard": {
      const { key, used, until } = effect;
      return { event: "budget.guard_tripped", budget, key, used, until };
    }
    case "end_lift":
      return { event: "budget.lift_ended", budget, key: "" };
  }
}
