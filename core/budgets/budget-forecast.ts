import type { Millis } from "../values/time.ts";
import { type BudgetState, type BudgetSum, callsSince, currentBounds, usedSince } from "./budget-state.ts";
import { totalUsed } from "./fleet-share.ts";

/**
 * The minimum share of the period that must have passed, and the minimum number of calls. With less, a forecast would
 * be noise.
 */
const MIN_ELAPSED_PART = 0.05;
const MIN_CALLS = 10;

/**
 * Returns when the amount is used up at the average pace of the period; null if too little is known, or the period has no end. The
 * result may be after the period's end.
 */
export function forecastBudget(each: BudgetState, sum: BudgetSum, now: Millis): Millis | null {
  const { from, to } = currentBounds(each, now);
  if (to === null) return null;
  const elapsedMs = now - from;
  const used = totalUsed(each.active, usedSince(sum, from, now), from, now);
  const { calls } = callsSince(sum, from, now);
  if (elapsedMs < (to - from) * MIN_ELAPSED_PART || calls < MIN_CALLS || used <= 0n) return null;
  const left = each.active.budget.limit - used;
  if (left <= 0n) return now;
  return now + Number((left * BigInt(Math.round(elapsedMs))) / used);
}
