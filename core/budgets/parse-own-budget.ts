import { SCOPE_KEYS } from "./budget.ts";
import { type BudgetInput, type ParsedBudget, parseBudget } from "./parse-budget.ts";
import { FLEET_PREFIX } from "./parse-fleet-budget.ts";

/**
 * Parses a budget that a person sets on this machine. Budgets that were stored earlier are read by `parseBudget()`, so that none of them
 * is lost by a stricter rule.
 */
export function parseOwnBudget(input: BudgetInput, options: { readonly zone: string }): ParsedBudget {
  const parsed = parseBudget(input, options);
  if (!parsed.ok) return parsed;
  if (parsed.budget.name.startsWith(FLEET_PREFIX))
    return {
      ok: false,
      key: "name",
      problem: `must not begin with ${FLEET_PREFIX}, because the budgets of a workspace have such names`,
    };
  // Elsewhere it would be a part of the name, which no call has. The parsed names of projects have none.
  const key = SCOPE_KEYS.find((each) =>
    [input[each]].flat().some((value) => typeof value === "string" && value.slice(0, -1).includes("*")),
  );
  if (key !== undefined)
    return { ok: false, key, problem: "can have a * only at the end of a name, such as gpt-*" };
  return parsed;
}
