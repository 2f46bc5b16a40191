import { type Budget, MAX_BUDGET_NAME } from "./budget.ts";
import { type BudgetInput, type ParsedBudget, parseBudget } from "./parse-budget.ts";

/** What a fleet budget counts: all calls of a workspace, or those of one project, person or machine. */
const FLEET_SUBJECTS = ["workspace", "project", "person", "machine"] as const;
export type FleetSubject = (typeof FLEET_SUBJECTS)[number];

/** On a machine, the name of a fleet budget begins with this, so that it differs from those of the machine's own budgets. */
export const FLEET_PREFIX = "workspace/";

/** The longest name of a fleet budget, in characters. */
export const MAX_FLEET_NAME = MAX_BUDGET_NAME - FLEET_PREFIX.length;

/** The most fleet budgets of a workspace. Source: docs/specification.md#fleet-budgets. */
export const MAX_FLEET_BUDGETS = 50;

/**
 * Parses the terms of a fleet budget: those of a budget without a scope. It has a period of the calendar or none, because machines add up
 * sums of the same period; and no cool-down, because a rate guard must act sooner than machines learn of each other's calls.
 */
export function parseFleetBudget(terms: BudgetInput, { zone }: { readonly zone: string }): ParsedBudget {
  const parsed = parseBudget(terms, { zone });
  if (!parsed.ok) return parsed;
  const { name, period, coolDownMs } = parsed.budget;
  if (name.length > MAX_FLEET_NAME)
    return { ok: false, key: "name", problem: `must have at most ${MAX_FLEET_NAME} characters` };
  if (coolDownMs !== null)
    return { ok: false, key: "cool_down", problem: "is not possible in a fleet budget" };
  if (period.kind === "rolling" || period.kind === "session")
    return { ok: false, key: "period", problem: "must be hour, day, week, month or total" };
  return parsed;
}

/** Returns the budget that a machine applies. A project is the only subject that does not cover every call of the machine. */
export function toMachineBudget(budget: Budget, subject: string, target: string | null): Budget {
  const scope = subject === "project" && target !== null ? { project: [target] } : {};
  return { ...budget, name: `${FLEET_PREFIX}${budget.name}`, scope };
}
