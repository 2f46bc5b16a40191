import type { Millis } from "../values/time.ts";
import {
  type Budget,
  type BudgetUnit,
  type CallFacts,
  type CallUse,
  matchesScope,
  neededFacts,
  type ScopeKey,
  sumKey,
  usedOf,
} from "./budget.ts";
import {
  type BudgetState,
  type BudgetsState,
  currentBounds,
  EMPTY_SUM,
  findSum,
  inFlightSince,
  roomAt,
  stoppedUntil,
  usedSince,
} from "./budget-state.ts";
import { isOutdated, totalUsed } from "./fleet-share.ts";
import type { LetThrough, LetThroughReason } from "./let-through.ts";

/** A call before it is sent. */
export interface CallToDecide {
  readonly facts: CallFacts;
  /** The most that the call can use. Undefined: not known yet. */
  readonly bound: CallUse | undefined;
  /** Whether nothing more will be known, so that the budget's `fail` decides what is open. */
  readonly isFinal: boolean;
}

/**
 * Why a budget refuses a call. `amount`: it is used up, or has no room for the call. `rate`: a guard has stopped its calls.
 * `unknown`: it can't be decided, and the budget fails closed.
 */
export type RefusalReason = "amount" | "rate" | "unknown";

/** A budget that refuses a call, with its amounts in pico-USD, tokens or requests. */
export interface CallRefused {
  readonly kind: "refuse";
  readonly budget: string;
  /** Whether a workspace set the budget, so that it can't be lifted on this machine. */
  readonly isFleet: boolean;
  readonly reason: RefusalReason;
  readonly unit: BudgetUnit;
  readonly limit: bigint;
  /** What stored calls used. */
  readonly spent: bigint;
  /** What calls in flight may use at most. */
  readonly inFlight: bigint;
  /** When the budget allows calls again. Null: not by itself. */
  readonly periodEnd: Millis | null;
  /** In seconds, until then. */
  readonly retryAfter: number | null;
}

/** The decision on a call. */
export type CallDecision =
  | {
      readonly kind: "allow";
      /** The budgets that could not be decided and fail open. */
      readonly letThrough: readonly LetThrough[];
    }
  /** Whether the call is refused depends on facts that are not known yet. */
  | { readonly kind: "undecided"; readonly needs: readonly (ScopeKey | "bound")[] }
  | CallRefused;

type Verdict =
  | Omit<CallRefused, "isFleet">
  | readonly (ScopeKey | "bound")[]
  | { readonly kind: "let_through"; readonly reason: LetThroughReason }
  | "allow";

const ALLOWED: CallDecision = { kind: "allow", letThrough: [] };

/** Whether any budget can refuse a call at the time. If not, no call needs a decision. */
export function canRefuse({ budgets }: BudgetsState, now: Millis): boolean {
  return budgets.some((each) => isBlocking(each, now));
}

/**
 * Decides on a call. Without `reserve`, a budget admits it while what was used and what calls in flight may use is less than the
 * amount, so the sum ends above it by at most this call. With `reserve`, all that the call may use must fit as well. Of
 * several budgets that refuse, the result names the one that refuses for the longest time.
 */
export function decideCall(state: BudgetsState, call: CallToDecide, now: Millis): CallDecision {
  let refused: CallRefused | null = null;
  let needs: (ScopeKey | "bound")[] | null = null;
  let letThrough: LetThrough[] | null = null;
  for (const each of state.budgets) {
    if (!isBlocking(each, now)) continue;
    const verdict = judge(state, each, call, now);
    if (verdict === "allow") continue;
    if (!("kind" in verdict)) {
      needs ??= [];
      needs.push(...verdict);
    } else if (verdict.kind === "let_through") {
      letThrough ??= [];
      letThrough.push({ budget: each.active.budget.name, reason: verdict.reason });
    } else refused = longer(refused, { ...verdict, isFleet: each.active.fleet !== undefined });
  }
  if (refused !== null) return refused;
  if (needs !== null) return { kind: "undecided", needs: [...new Set(needs)] };
  return letThrough === null ? ALLOWED : { kind: "allow", letThrough };
}

/** Whether a budget can refuse calls at the time. */
export const isBlocking = ({ active }: BudgetState, now: Millis): boolean =>
  active.budget.atLimit === "block" &&
  !active.isPaused &&
  (active.liftedUntil === null || active.liftedUntil <= now);

function judge(state: BudgetsState, each: BudgetState, call: CallToDecide, now: Millis): Verdict {
  const { budget } = each.active;
  const matches = matchesScope(budget, call.facts);
  if (matches === false || costsNothing(budget, call)) return "allow";
  if (matches === undefined) {
    const missing = neededFacts(budget).filter((key) => call.facts[key] === undefined);
    if (!call.isFinal) return missing;
    return applyFailMode(budget, missing.some((key) => CALLER_FACTS.has(key)) ? "caller" : "request", now);
  }
  if (!each.isKnown) return applyFailMode(budget, "records", now);
  const key = sumKey(budget, call.facts);
  const sum = findSum(each, key) ?? EMPTY_SUM;
  const bounds = currentBounds(each, now);
  const spent = totalUsed(each.active, usedSince(sum, bounds.from, now), bounds.from, now);
  const inFlight = inFlightSince(state, each, key, sum, bounds.from);
  const reason = budget.coolDownMs === null ? "amount" : "rate";
  const stopped = stoppedUntil(budget, sum, now);
  if (stopped !== null) return refuse(budget, "rate", spent, inFlight, stopped, now);
  if (spent + inFlight >= budget.limit)
    return refuse(budget, reason, spent, inFlight, roomAt(each, sum, bounds, inFlight, now), now);
  // What is known leaves room, but the spend of other machines is not known any more.
  if (each.active.fleet !== undefined && isOutdated(each.active.fleet, now))
    return applyFailMode(budget, "fleet", now, { spent, inFlight });
  if (!budget.reserve) return "allow";
  if (call.bound === undefined && !call.isFinal) return ["bound"];
  const bound = call.bound === undefined ? null : usedOf(budget, { facts: call.facts, ...call.bound });
  if (bound !== null && spent + inFlight + bound <= budget.limit) return "allow";
  // Decision: a call without a bound can't be reserved for, so it is one that can't be decided. That does not change with the period.
  return bound === null
    ? applyFailMode(budget, "bound", now, { spent, inFlight })
    : refuse(budget, reason, spent, inFlight, roomAt(each, sum, bounds, inFlight, now), now);
}

/** Whether a call adds nothing to a budget in USD. What runs under a plan has no cost of its own before it is sent. */
const costsNothing = ({ unit }: Budget, { facts, bound }: CallToDecide): boolean =>
  unit === "usd" && bound?.costPicoUsd === 0n && facts.billing !== undefined && facts.billing !== "plan";

/** The facts that come from looking up the calling process; the session only if the call states none. */
const CALLER_FACTS: ReadonlySet<ScopeKey> = new Set(["project", "branch", "client", "session"]);

/** Returns the verdict of a budget that can't decide: its `fail` is open or closed. */
function applyFailMode(
  budget: Budget,
  reason: LetThroughReason,
  now: Millis,
  { spent = 0n, inFlight = 0n }: { readonly spent?: bigint; readonly inFlight?: bigint } = {},
): Verdict {
  if (budget.fail === "open") return { kind: "let_through", reason };
  return refuse(budget, "unknown", spent, inFlight, null, now);
}

function refuse(
  { name, unit, limit }: Budget,
  reason: RefusalReason,
  spent: bigint,
  inFlight: bigint,
  periodEnd: Millis | null,
  now: Millis,
): Omit<CallRefused, "isFleet"> {
  const retryAfter = periodEnd === null ? null : Math.max(1, Math.ceil((periodEnd - now) / 1000));
  return { kind: "refuse", budget: name, reason, unit, limit, spent, inFlight, periodEnd, retryAfter };
}

function longer(one: CallRefused | null, other: CallRefused): CallRefused {
  if (one === null) return other;
  return (other.periodEnd ?? Number.POSITIVE_INFINITY) > (one.periodEnd ?? Number.POSITIVE_INFINITY)
    ? other
    : one;
}
