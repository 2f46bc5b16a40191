import { readBudgets } from "../../daemon/read-budgets.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { renderBudgets } from "./render-budgets.ts";

/** Lists the budgets. */
export async function listBudgets(
  context: CommandContext,
  { json }: { readonly json: boolean },
): Promise<void> {
  const read = await readBudgets(context.home, context.env);
  if (json) return context.printJson(read);
  context.print(renderBudgets(read, Date.now(), context.width));
}
