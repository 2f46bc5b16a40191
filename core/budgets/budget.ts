import type { Millis } from "../values/time.ts";
import type { FleetShare } from "./fleet-share.ts";

/** What a budget can be limited to. `billing` is the billing mode. Source: docs/specification.md#budgets. */
export const SCOPE_KEYS = [
  "project",
  "branch",
  "provider",
  "model",
  "client",
  "session",
  "agent",
  "machine",
  "person",
  "billing",
] as const;
export type ScopeKey = (typeof SCOPE_KEYS)[number];

/**
 * The calls that a budget counts: those that match every key, each by one of its values. A value that ends in `*` is the beginning of
 * the name. Without keys, all calls.
 */
export type BudgetScope = { readonly [Key in ScopeKey]?: readonly string[] };

/** What an amount counts. */
export const BUDGET_UNITS = ["usd", "tokens", "requests"] as const;
export type BudgetUnit = (typeof BUDGET_UNITS)[number];

/** The periods of the calendar, in a time zone. A week begins on Monday. */
export const CALENDAR_PERIODS = ["hour", "day", "week", "month"] as const;
export type CalendarPeriod = (typeof CALENDAR_PERIODS)[number];

/** What an amount is for. `session`: each session has the whole amount. `rolling`: the time before now. */
export type BudgetPeriod =
  | { readonly kind: "session" | "total" }
  | { readonly kind: CalendarPeriod /** An IANA name. */; readonly zone: string }
  | { readonly kind: "rolling"; readonly lengthMs: number };

/** An amount for some calls in a period, and what happens when it is used up. */
export interface Budget {
  readonly name: string;
  readonly scope: BudgetScope;
  readonly unit: BudgetUnit;
  /** Pico-USD, tokens or requests. */
  readonly limit: bigint;
  readonly period: BudgetPeriod;
  /** In percent, ascending. */
  readonly thresholds: readonly number[];
  readonly atLimit: "warn" | "block";
  /** What happens to calls in flight when the amount is used up. */
  readonly onExceed: "finish" | "cut";
  /** Whether a call needs room for all that it may use; otherwise any room is enough. */
  readonly reserve: boolean;
  /** What happens to a call that can't be decided. */
  readonly fail: "open" | "closed";
  /** How long a guard stops calls after its amount was reached, in milliseconds. Null: this is not a rate guard. */
  readonly coolDownMs: number | null;
}

/** A budget with what people have done to it. */
export interface ActiveBudget {
  readonly budget: Budget;
  /** A paused budget counts, and neither warns nor blocks. */
  readonly isPaused: boolean;
  /** Until then the budget does not block. */
  readonly liftedUntil: Millis | null;
  /** What the cloud stated about the spend of a fleet budget. Absent: the budget is this machine's own. */
  readonly fleet?: FleetShare;
}

/** What is known about a call: undefined if it is not known yet, null if it never will be. */
export type CallFacts = { readonly [Key in ScopeKey]?: string | null };

/** What one call used. Null is unknown. */
export interface CallUse {
  readonly costPicoUsd: bigint | null;
  readonly tokens: number | null;
}

/** A call that is stored as a record. */
export interface BookedCall extends CallUse {
  readonly at: Millis;
  readonly facts: CallFacts;
}

/** The default thresholds, in percent. Source: docs/specification.md#budgets. */
export const DEFAULT_THRESHOLDS: readonly number[] = [50, 80, 100];

/** The longest name of a budget, in characters. Source: docs/specification.md#budgets. */
export const MAX_BUDGET_NAME = 64;

/** The most budgets of an installation. Source: docs/specification.md#budgets. */
export const MAX_BUDGETS = 100;

/** The billing mode that a USD budget counts only if its scope names it, because it is not spent. */
const NOT_SPENT = "plan";

/**
 * Whether a budget counts a call; undefined if that depends on a fact that is not known yet. A key that will never be
 * known does not match.
 */
export function matchesScope({ scope, unit, period }: Budget, facts: CallFacts): boolean | undefined {
  let isUnknown = false;
  for (const key in scope) {
    const fact = facts[key as ScopeKey];
    if (fact === undefined) isUnknown = true;
    else if (fact === null || !matchesAny(scope[key as ScopeKey] as readonly string[], fact, key))
      return false;
  }
  if (unit === "usd" && scope.billing === undefined) {
    if (facts.billing === NOT_SPENT) return false;
    if (facts.billing === undefined) isUnknown = true;
  }
  if (period.kind === "session") {
    if (facts.session === null) return false;
    if (facts.session === undefined) isUnknown = true;
  }
  return isUnknown ? undefined : true;
}

/** The date that providers append to a model's name in their responses: `-20251101`, `-2025-11-01`, `@20251101`. */
const MODEL_DATE = /^[-@]\d{4}-?\d\d-?\d\d$/;

function matchesAny(values: readonly string[], fact: string, key: string): boolean {
  for (const value of values) {
    if (value === fact || (value.endsWith("*") && fact.startsWith(value.slice(0, -1)))) return true;
    if (key === "model" && fact.startsWith(value) && MODEL_DATE.test(fact.slice(value.length))) return true;
  }
  return false;
}

/** Returns the facts that a budget needs. */
export function neededFacts({ scope, unit, period }: Budget): readonly ScopeKey[] {
  const needed = new Set(Object.keys(scope) as ScopeKey[]);
  if (unit === "usd") needed.add("billing");
  if (period.kind === "session") needed.add("session");
  return [...needed];
}

/** Returns what a call adds to a budget. Null if unknown: without a billing mode, it is not known whether a cost is spent. */
export function usedOf(
  { unit, scope }: Budget,
  { facts, costPicoUsd, tokens }: CallUse & { readonly facts: CallFacts },
): bigint | null {
  if (unit === "usd") return facts.billing === "unknown" && scope.billing === undefined ? null : costPicoUsd;
  if (unit === "requests") return 1n;
  return tokens === null ? null : BigInt(tokens);
}

/** Returns which of a budget's sums a call belongs to: the session's, or the only one. */
export function sumKey({ period }: Budget, facts: CallFacts): string {
  return period.kind === "session" ? (facts.session ?? "") : "";
}

/** Whether two budgets count the same calls in the same unit and period, so that their sums are the same. */
export function countsSame(one: Budget, other: Budget): boolean {
  const counted = ({ scope, unit, period }: Budget) =>
    JSON.stringify([SCOPE_KEYS.map((key) => scope[key] ?? null), unit, period]);
  return counted(one) === counted(other);
}
