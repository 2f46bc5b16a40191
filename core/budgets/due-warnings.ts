import type { Step } from "../values/machine.ts";
import type { Millis } from "../values/time.ts";
import type { Budget } from "./budget.ts";
import type { BudgetEffect } from "./budget-events.ts";
import { forecastBudget } from "./budget-forecast.ts";
import { type PeriodBounds, stepStart } from "./budget-period.ts";
import {
  type BudgetState,
  type BudgetSum,
  type BudgetsState,
  currentBounds,
  EMPTY_SUM,
  type FiredWarning,
  findSum,
  stoppedUntil,
  usedSince,
  withSum,
} from "./budget-state.ts";
import { totalUsed } from "./fleet-share.ts";

/** Emits the warnings that are due: for the sums that changed, or for all. Forecasts become due as time passes. */
export function checkWarnings(
  state: BudgetsState,
  now: Millis,
  effects: BudgetEffect[],
  { before = null, withForecast = false }: { before?: BudgetsState | null; withForecast?: boolean } = {},
): Step<BudgetsState, BudgetEffect> {
  let isChanged = false;
  const budgets = state.budgets.map((each, at) => {
    if (!each.isKnown || each.active.isPaused) return each;
    const unchanged = before?.budgets[at]?.sums;
    let next = each;
    for (const [key, sum] of Object.entries(each.sums)) {
      // A warning of another session may have made this one forgotten.
      if (unchanged?.[key] === sum || findSum(next, key) === undefined) continue;
      next = checkSum(next, key, now, effects, withForecast);
    }
    if (next !== each) isChanged = true;
    return next;
  });
  return { state: isChanged ? { ...state, budgets } : state, effects };
}

function checkSum(
  each: BudgetState,
  key: string,
  now: Millis,
  effects: BudgetEffect[],
  withForecast: boolean,
): BudgetState {
  const { budget } = each.active;
  const sum = each.sums[key] as BudgetSum;
  const bounds = currentBounds(each, now);
  const used = totalUsed(each.active, usedSince(sum, bounds.from, now), bounds.from, now);
  if (budget.coolDownMs !== null) return used > budget.limit ? trip(each, key, now, effects) : each;
  if (used <= 0n) return each;
  const { name, limit } = budget;
  const isFired = (threshold: number) =>
    sum.fired.some(
      (one) => one.threshold === threshold && one.limit === limit && isCurrent(budget, bounds, one, now),
    );
  const due = budget.thresholds.filter(
    (percent) => used * 100n >= limit * BigInt(percent) && !isFired(percent),
  );
  const fired = due.map((threshold): FiredWarning => ({ threshold, limit, at: now }));
  const highest = due.at(-1);
  if (highest !== undefined)
    effects.push({ kind: "warn", budget: name, key, threshold: highest, limit, used, bounds });
  const goneAt = withForecast && used < limit && !isFired(0) ? forecastBudget(each, sum, now) : null;
  if (goneAt !== null && bounds.to !== null && goneAt < bounds.to) {
    fired.push({ threshold: 0, limit, at: now });
    effects.push({ kind: "warn_forecast", budget: name, key, limit, used, bounds, goneAt });
  }
  if (fired.length === 0) return each;
  const kept = sum.fired.filter((one) => isCurrent(budget, bounds, one, now));
  return withSum(each, key, { ...sum, fired: [...kept, ...fired] });
}

/** Whether a warning belongs to this period. A rolling budget warns again after the length of its period. */
function isCurrent(
  { period }: Budget,
  { from, to }: PeriodBounds,
  { at }: FiredWarning,
  now: Millis,
): boolean {
  if (period.kind === "rolling") return stepStart(period.lengthMs, at) >= from && at <= now;
  return at >= from && (to === null || at < to);
}

/** Lets a rate guard stop calls for its cool-down, unless it does already. */
export function trip(each: BudgetState, key: string, now: Millis, effects: BudgetEffect[]): BudgetState {
  const { budget } = each.active;
  const { name, coolDownMs, limit } = budget;
  const sum = findSum(each, key) ?? EMPTY_SUM;
  if (coolDownMs === null || stoppedUntil(budget, sum, now) !== null) return each;
  const until = now + coolDownMs;
  const used = usedSince(sum, currentBounds(each, now).from, now) + sum.inFlight;
  effects.push({ kind: "trip_guard", budget: name, key, limit, used, until });
  return withSum(each, key, { ...sum, trippedUntil: until });
}
