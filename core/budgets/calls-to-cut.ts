import type { Millis } from "../values/time.ts";
import {
  type BudgetSum,
  type BudgetsState,
  type CallInFlight,
  currentBounds,
  heldBy,
  inFlightSince,
  roomAt,
  stoppedUntil,
  usedSince,
} from "./budget-state.ts";
import { isBlocking } from "./decide-call.ts";
import { totalUsed } from "./fleet-share.ts";
import type { RefusalFacts } from "./refusal/refusal-text.ts";

/** A call in flight that must end because its budget is used up, with the facts for its client. */
export interface CallToCut {
  readonly call: CallInFlight;
  readonly facts: RefusalFacts;
}

/** Whether any budget ends calls in flight. */
export const mayCut = ({ budgets }: BudgetsState): boolean =>
  budgets.some(({ active }) => active.budget.onExceed === "cut");

/**
 * Returns the calls in flight that must end: those of budgets with `onExceed: "cut"` whose records have reached the
 * amount, or whose guard has tripped. What a call has used is known only once it ends, so a call never ends itself.
 * Each call is returned once.
 */
export function callsToCut(state: BudgetsState, now: Millis): readonly CallToCut[] {
  const found = new Map<string, CallToCut>();
  for (const each of state.budgets) {
    const { budget, fleet } = each.active;
    if (budget.onExceed !== "cut" || !each.isKnown || !isBlocking(each, now)) continue;
    const bounds = currentBounds(each, now);
    for (const call of state.calls) {
      const held = found.has(call.id) ? null : heldBy(budget, call);
      if (held === null) continue;
      // A call in flight always has a sum.
      const sum = each.sums[held.key] as BudgetSum;
      const tripped = stoppedUntil(budget, sum, now);
      const spent = totalUsed(each.active, usedSince(sum, bounds.from, now), bounds.from, now);
      if (tripped === null && spent < budget.limit) continue;
      const inFlight = inFlightSince(state, each, held.key, sum, bounds.from);
      const periodEnd = tripped ?? roomAt(each, sum, bounds, inFlight, now);
      const retryAfter = periodEnd === null ? null : Math.max(1, Math.ceil((periodEnd - now) / 1000));
      const { name, unit, limit } = budget;
      found.set(call.id, {
        call,
        facts: {
          budget: name,
          isFleet: fleet !== undefined,
          reason: "cut",
          unit,
          limit,
          periodEnd,
          retryAfter,
        },
      });
    }
  }
  return [...found.values()];
}
