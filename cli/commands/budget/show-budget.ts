import { readBudgets } from "../../daemon/read-budgets.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { renderBudget } from "./render-budgets.ts";

/** How many entries of the log are shown. */
const MAX_ACTIONS = 20;

/** Explains the number of a budget. */
export async function showBudget(
  context: CommandContext,
  { name, json }: { readonly name: string; readonly json: boolean },
): Promise<void> {
  const { budgets, let_through_early: early } = await readBudgets(context.home, context.env);
  const view = budgets.find((each) => each.name === name);
  if (view === undefined)
    throw new CommandFailure(
      `There is no budget ${name}.\nList the budgets: meter budget list`,
      exitCodes.notFound,
    );
  const actions = await withStore(context.home, { readOnly: true }, async (store) =>
    store.budgets.actions(name, MAX_ACTIONS),
  );
  if (json) return context.printJson({ ...view, actions });
  context.print(renderBudget(view, actions, Date.now(), early ?? 0));
}
