import type { Millis } from "../values/time.ts";
import { MAX_BUDGET_SESSIONS } from "./budget-machine.ts";
import {
  type BudgetState,
  type BudgetsState,
  currentBounds,
  inFlightSince,
  usedSince,
} from "./budget-state.ts";
import { isBlocking } from "./decide-call.ts";
import { isOutdated, totalUsed } from "./fleet-share.ts";

/** A budget with less than this part of its amount left decides on every call. */
const AMPLE_PART = 10n;

/**
 * Returns how many calls may be under way without being counted in flight, so that the sum ends above no amount by more than one of
 * them. Zero: a decision is needed on each call.
 *
 * A budget without `reserve` admits a call as long as there is any room, so one uncounted call is right whatever it uses. Further
 * ones need what the first one uses. That is known in advance only for an amount of requests.
 */
export function passCapacity(state: BudgetsState, now: Millis): number {
  let capacity = Number.POSITIVE_INFINITY;
  for (const each of state.budgets)
    if (isBlocking(each, now)) capacity = Math.min(capacity, capacityOf(state, each, now));
  return capacity;
}

function capacityOf(state: BudgetsState, each: BudgetState, now: Millis): number {
  const { budget, fleet } = each.active;
  // These need the call's own facts, count what could not be decided, or end calls that are in flight.
  if (budget.reserve || budget.fail === "closed" || budget.onExceed === "cut" || !each.isKnown) return 0;
  if (fleet !== undefined && isOutdated(fleet, now)) return 0;
  const sums = Object.entries(each.sums);
  // The sums of further sessions are not held.
  if (sums.length >= MAX_BUDGET_SESSIONS) return 0;
  const { from } = currentBounds(each, now);
  let room = budget.limit - totalUsed(each.active, 0n, from, now);
  for (const [key, sum] of sums) {
    if (sum.trippedUntil !== null && sum.trippedUntil > now) return 0;
    const used = totalUsed(each.active, usedSince(sum, from), from, now);
    const left = budget.limit - used - inFlightSince(state, each, key, sum, from);
    if (left < room) room = left;
  }
  if (room <= 0n || room * AMPLE_PART < budget.limit) return 0;
  return budget.unit === "requests" ? Number(room) : 1;
}
