import type { Millis } from "../values/time.ts";
import {
  type ActiveBudget,
  type Budget,
  type CallFacts,
  type CallUse,
  matchesScope,
  sumKey,
  usedOf,
} from "./budget.ts";
import { budgetPeriod, type PeriodBounds, rollingStepMs } from "./budget-period.ts";

/** A part of a sum: the use of the calls that began in a period, or in a step of a rolling period. */
export interface SumPart {
  readonly at: Millis;
  readonly used: bigint;
  readonly calls: number;
  /** Calls whose use is not known, and therefore not in `used`. */
  readonly unknown: number;
}

/** The threshold of a `FiredWarning` that says that a rate guard began to stop calls. */
export const GUARD_TRIPPED = -1;

/** A warning that was given, so that it is not given again. */
export interface FiredWarning {
  /** In percent; 0 for the forecast; `GUARD_TRIPPED`. */
  readonly threshold: number;
  readonly limit: bigint;
  readonly at: Millis;
}

/** What the calls of a budget used; for a period `session`, those of one session. */
export interface BudgetSum {
  /** Ascending. */
  readonly parts: readonly SumPart[];
  /** The sum of the parts from `from` on, which is the one that is needed most often. */
  readonly from: Millis;
  readonly used: bigint;
  /** What calls in flight may use at most. */
  readonly inFlight: bigint;
  readonly callsInFlight: number;
  /** Calls in flight without a bound. */
  readonly unbounded: number;
  readonly fired: readonly FiredWarning[];
  /** A rate guard stops calls until then. */
  readonly trippedUntil: Millis | null;
  readonly touchedAt: Millis;
}

/** The state of one budget. */
export interface BudgetState {
  readonly active: ActiveBudget;
  /** The period at the last event. */
  readonly bounds: PeriodBounds;
  /** Whether the sums were read from the records. */
  readonly isKnown: boolean;
  /** By session, or one under an empty key. */
  readonly sums: Readonly<Record<string, BudgetSum>>;
}

/** A call that was admitted and has not ended. */
export interface CallInFlight {
  readonly id: string;
  readonly at: Millis;
  readonly facts: CallFacts;
  readonly bound: CallUse;
}

/** The state of all budgets. Plain data; amounts are bigints. */
export interface BudgetsState {
  readonly budgets: readonly BudgetState[];
  /** Oldest first. */
  readonly calls: readonly CallInFlight[];
}

/** How many sessions a budget per session holds. The least recent is read again when it continues. */
export const MAX_BUDGET_SESSIONS = 500;

/** The state before any budget is set. */
export const initialBudgetsState: BudgetsState = { budgets: [], calls: [] };

/** The sum of a budget that no call has used. */
export const EMPTY_SUM: BudgetSum = {
  parts: [],
  from: 0,
  used: 0n,
  inFlight: 0n,
  callsInFlight: 0,
  unbounded: 0,
  fired: [],
  trippedUntil: null,
  touchedAt: 0,
};

/** Returns the period at a time. The one of the last event is used while it lasts, because zones are slow to compute. */
export function currentBounds({ active, bounds }: BudgetState, now: Millis): PeriodBounds {
  const { kind } = active.budget.period;
  if (kind !== "rolling" && now >= bounds.from && (bounds.to === null || now < bounds.to)) return bounds;
  return budgetPeriod(active.budget, now);
}

/**
 * Returns until when a rate guard stops calls; null if it does not. That is at most a cool-down from now, also if the clock was set
 * back since it began.
 */
export function stoppedUntil(
  { coolDownMs }: Budget,
  { trippedUntil }: BudgetSum,
  now: Millis,
): Millis | null {
  if (coolDownMs === null || trippedUntil === null || trippedUntil <= now) return null;
  return Math.min(trippedUntil, now + coolDownMs);
}

/** Returns what was used since a time. What began after now was recorded before the clock was set back, and does not count. */
export function usedSince({ parts, from, used }: BudgetSum, since: Millis, now: Millis): bigint {
  if (since === from && (parts.at(-1)?.at ?? 0) <= now) return used;
  let total = 0n;
  for (const part of parts) if (part.at >= since && part.at <= now) total += part.used;
  return total;
}

/** Returns the number of calls of a sum since a time, and how many of them have unknown use. */
export function callsSince(
  { parts }: BudgetSum,
  since: Millis,
  now: Millis,
): { calls: number; unknown: number } {
  let calls = 0;
  let unknown = 0;
  for (const part of parts) {
    if (part.at < since || part.at > now) continue;
    calls += part.calls;
    unknown += part.unknown;
  }
  return { calls, unknown };
}

/** Returns a call's part in what is in flight, with the key of its sum; null if the budget does not count it. */
export function heldBy(
  budget: Budget,
  { facts, bound }: Pick<CallInFlight, "facts" | "bound">,
): { readonly key: string; readonly amount: bigint | null } | null {
  if (matchesScope(budget, facts) !== true) return null;
  return { key: sumKey(budget, facts), amount: usedOf(budget, { facts, ...bound }) };
}

/**
 * Returns what calls in flight may use at most. A rolling period counts only those that began in it: a guard of calls per minute is
 * about how many begin.
 */
export function inFlightSince(
  state: BudgetsState,
  { active }: BudgetState,
  key: string,
  sum: BudgetSum,
  since: Millis,
): bigint {
  const { budget } = active;
  const [oldest] = state.calls;
  const isAll = budget.period.kind !== "rolling" || oldest === undefined || oldest.at >= since;
  if (isAll || sum.callsInFlight === 0) return sum.inFlight;
  let total = 0n;
  for (const call of state.calls) {
    if (call.at < since) continue;
    const held = heldBy(budget, call);
    if (held !== null && held.key === key) total += held.amount ?? 0n;
  }
  return total;
}

/**
 * Returns when a used-up budget has room again: when its period ends, or when enough of a rolling period has passed. Null
 * if it never has room again by itself.
 */
export function roomAt(
  { active }: BudgetState,
  sum: BudgetSum,
  { from, to }: PeriodBounds,
  inFlight: bigint,
  now: Millis,
): Millis | null {
  const { period, limit } = active.budget;
  if (period.kind !== "rolling") return to;
  let left = usedSince(sum, from, now) + inFlight;
  for (const part of sum.parts) {
    if (part.at < from || part.at > now) continue;
    left -= part.used;
    if (left < limit) return part.at + rollingStepMs(period.lengthMs) + period.lengthMs;
  }
  return now + period.lengthMs;
}

/** Returns a sum; undefined if there is none. A session can have the name of a member that every object inherits. */
export const findSum = ({ sums }: Pick<BudgetState, "sums">, key: string): BudgetSum | undefined =>
  Object.hasOwn(sums, key) ? sums[key] : undefined;

/** Sets a sum, and forgets the session that was not used for the longest time if there are too many. */
export function withSum(each: BudgetState, key: string, sum: BudgetSum): BudgetState {
  const sums = { ...each.sums, [key]: sum };
  // Other budgets have one sum.
  if (each.active.budget.period.kind !== "session") return { ...each, sums };
  const keys = Object.keys(sums);
  if (keys.length <= MAX_BUDGET_SESSIONS) return { ...each, sums };
  let oldest: string | null = null;
  for (const one of keys) {
    const { callsInFlight, touchedAt } = sums[one] as BudgetSum;
    if (one === key || callsInFlight > 0) continue;
    if (oldest === null || touchedAt < (sums[oldest] as BudgetSum).touchedAt) oldest = one;
  }
  if (oldest !== null) delete sums[oldest];
  return { ...each, sums };
}
