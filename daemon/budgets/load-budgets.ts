import type { ActiveBudget, Budget, CallFacts } from "../../core/budgets/budget.ts";
import type { BudgetEvent } from "../../core/budgets/budget-events.ts";
import { budgetTransition } from "../../core/budgets/budget-machine.ts";
import { budgetPeriod } from "../../core/budgets/budget-period.ts";
import { type BudgetsState, initialBudgetsState } from "../../core/budgets/budget-state.ts";
import { parseBudget } from "../../core/budgets/parse-budget.ts";
import type { Millis } from "../../core/values/time.ts";
import type { BudgetStore } from "../store/port/budgets.ts";
import type { NoteStore } from "../store/port/settings.ts";
import { listFleetBudgets } from "./fleet-budgets.ts";

/** The sources of budgets. */
export interface BudgetSources {
  readonly budgets: BudgetStore;
  /** The budgets of `config.toml`. One of them replaces a stored one of its name. */
  readonly configured: readonly Budget[];
  /** Where the budgets of the workspace are. */
  readonly notes: Pick<NoteStore, "read">;
  /** The machine and the person of this installation, which no record states. */
  readonly place: CallFacts;
}

/**
 * Returns all budgets: those of the workspace, those of `config.toml` in their order, then those set on the command line. A budget of the
 * workspace replaces others of its name.
 */
export function listBudgets({ budgets, configured, notes }: Omit<BudgetSources, "place">): ActiveBudget[] {
  const fleet = listFleetBudgets(notes);
  const marks = new Map(budgets.marks().map((mark) => [mark.name, mark]));
  const stored = budgets.list().flatMap(({ name, input }) => {
    if (configured.some((each) => each.name === name)) return [];
    const parsed = parseStored(input);
    return parsed === null ? [] : [parsed];
  });
  const own = [...configured, ...stored].filter(
    ({ name }) => !fleet.some((each) => each.budget.name === name),
  );
  return [
    ...fleet,
    ...own.map((budget) => {
      const mark = marks.get(budget.name);
      return { budget, isPaused: mark?.isPaused ?? false, liftedUntil: mark?.liftedUntil ?? null };
    }),
  ];
}

/** Parses a stored budget. Null: a newer version wrote it. */
export function parseStored(input: string): Budget | null {
  try {
    const parsed = parseBudget(JSON.parse(input), { zone: "UTC" });
    return parsed.ok ? parsed.budget : null;
  } catch {
    return null;
  }
}

/** Reads the sums of a budget, or the one of its key, with the warnings that were given. */
export function loadSums(
  { budgets, place }: Pick<BudgetSources, "budgets" | "place">,
  budget: Budget,
  key: string | null,
  now: Millis,
): BudgetEvent {
  const fired = budgets.warnings(budget.name);
  const read = budgets.sums(budget, budgetPeriod(budget, now), key, place);
  // The cool-down of a guard may be longer than its period, in which no call is left.
  const isTripped = budget.coolDownMs !== null && fired.length > 0 && read.length === 0;
  const sums = (isTripped ? [{ key: "", parts: [] }] : read).map((sum) => ({
    ...sum,
    fired: fired
      .filter((each) => each.key === sum.key)
      .map(({ threshold, limit, at }) => ({ threshold, limit, at })),
  }));
  return { kind: "sums_loaded", budget: budget.name, key, sums };
}

/** Returns the state of all budgets as the records have it, without calls in flight: for a command without a daemon. */
export function readBudgetsState(sources: BudgetSources, now: Millis): BudgetsState {
  const active = listBudgets(sources);
  const set = budgetTransition(initialBudgetsState, { kind: "budgets_set", budgets: active }, now);
  return active.reduce(
    (state, { budget }) => budgetTransition(state, loadSums(sources, budget, null, now), now).state,
    set.state,
  );
}
