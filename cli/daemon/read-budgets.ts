import { withStore } from "../home/open-store.ts";
import { placeOf } from "../home/place-of.ts";
import { readConfig } from "../home/read-config.ts";
import { type ReadBudgets, requestBudgets } from "./request-budgets.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the budgets from the daemon, which applies changes at once, or from the database if it does not run. */
export async function readBudgets(home: string, env: Env): Promise<ReadBudgets> {
  return (await requestBudgets(home)) ?? (await readStoredBudgets(home, env));
}

async function readStoredBudgets(home: string, env: Env): Promise<ReadBudgets> {
  const { readBudgetsState } = await import("../../daemon/budgets/load-budgets.ts");
  const { budgetViews } = await import("../../daemon/budgets/budget-views.ts");
  const { config } = await readConfig(home, env);
  return await withStore(home, { readOnly: true }, async ({ budgets, notes }) => {
    const now = Date.now();
    const state = readBudgetsState({ budgets, notes, configured: config.budgets, place: placeOf() }, now);
    const views = budgetViews(state, now, { configured: config.budgets });
    return { budgets: views, let_through: null, let_through_early: null, confirmed: null };
  });
}
