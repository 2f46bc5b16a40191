import { readStandings, toStatedBudget } from "../../budgets/budget-standing.ts";
import { listBudgets } from "../../store/budgets.ts";
import { inScope } from "../../store/transaction.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The route by which a machine takes the budgets that bind it. */
export const machineBudgetHandlers = {
  /**
   * Returns what the machine used and what all others used. The sums are up to `SUM_CACHE_MS` old. An admin key has no machine: everything
   * counts as used elsewhere.
   */
  "GET /v1/daemon/budgets": async ({ parts, key, answer }) => {
    const { workspaceId, userId, machine } = key;
    const now = parts.clock.now();
    const reader = { userId, machineIds: machine === null ? [] : [machine.id] };
    const { budgetWatch } = parts;
    const standings = await inScope(parts.db, { workspaceId }, async (trx) => {
      const budgets = await listBudgets(trx, workspaceId, reader);
      return await readStandings(trx, workspaceId, budgets, machine?.id ?? null, now, budgetWatch.sums);
    });
    if (standings.length > 0) budgetWatch.note({ workspaceId, name: key.workspace.name });
    return answer(200, {
      budgets: standings.map((standing) => ({
        ...toStatedBudget(standing),
        here: `${standing.totals.here}`,
        elsewhere: `${standing.totals.elsewhere}`,
      })),
    });
  },
} satisfies Partial<ApiHandlers>;
