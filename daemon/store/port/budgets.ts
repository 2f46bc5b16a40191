import type { StoredCall } from "../../../core/budgets/booked-call.ts";
import type { Budget, CallFacts } from "../../../core/budgets/budget.ts";
import type { PeriodBounds } from "../../../core/budgets/budget-period.ts";
import type { FiredWarning, SumPart } from "../../../core/budgets/budget-state.ts";
import type { Millis } from "../../../core/values/time.ts";

/** What people have done to a budget, including one of `config.toml`. */
export interface BudgetMark {
  readonly name: string;
  readonly isPaused: boolean;
  readonly liftedUntil: Millis | null;
}

/** What was done to a budget, by whom, and why. */
export interface BudgetAction {
  readonly at: Millis;
  readonly action: "set" | "removed" | "paused" | "resumed" | "lifted";
  /** The user of this machine. */
  readonly actor: string;
  readonly reason: string | null;
  /** The end of a lift. */
  readonly until: Millis | null;
}

/** The sum of what a budget counts. */
export interface StoredSum {
  /** The session, or empty. */
  readonly key: string;
  readonly parts: readonly SumPart[];
  /** Of a session: when its latest call began. */
  readonly lastAt?: Millis;
}

/** A warning that was given. */
export interface StoredWarning extends FiredWarning {
  readonly budget: string;
  readonly key: string;
}

/** Budgets that were set on the command line, what was done to budgets, and their sums, which come from the records. */
export interface BudgetStore {
  /** Returns the budgets as `parseBudget()` reads them, by name. */
  list(): { readonly name: string; readonly input: string }[];
  marks(): BudgetMark[];
  /** Saves a budget, in place of the one of its name. */
  save(name: string, input: string, action: BudgetAction): void;
  /** Removes a budget with its marks and warnings. False: there is none. */
  remove(name: string, action: BudgetAction): boolean;
  /** Sets the marks of a budget. */
  mark(mark: BudgetMark, action: BudgetAction): void;
  /** Returns the actions on a budget, the latest first. */
  actions(name: string, limit: number): BudgetAction[];
  /** Returns the warnings that were given for a budget. */
  warnings(name: string): StoredWarning[];
  /** Forgets the warnings that were given for a budget. Idempotent. */
  forgetWarnings(name: string): void;
  /** Idempotent. */
  addWarnings(warnings: readonly StoredWarning[]): void;
  /** Returns the stored calls of these ids that budgets count. */
  calls(requestIds: readonly string[]): StoredCall[];
  /** Sums the records of a budget from the start of its period: all, or those of one session. `place` completes the facts. */
  sums(budget: Budget, bounds: PeriodBounds, key: string | null, place: CallFacts): StoredSum[];
  /** A text that changes when another program changes budgets, or changes or deletes records. */
  version(): string;
}
