import { readStandings, toStatedBudget } from "../../budgets/budget-standing.ts";
import { warnOfBudgets } from "../../budgets/warn-of-budgets.ts";
import { listBudgets, listSettledWarnings } from "../../store/budgets.ts";
import { inScope } from "../../store/transaction.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The route by which a machine takes the budgets that bind it. */
export const machineBudgetHandlers = {
  /**
   * States what the machine used and what all others used. Machines ask every 30 seconds while they run, so this is also where the
   * thresholds are checked. An admin key has no machine: all that was used counts as used elsewhere.
   */
  "GET /v1/daemon/budgets": async ({ parts, key, answer }) => {
    const { workspaceId, userId, machine } = key;
    const now = parts.clock.now();
    const reader = { userId, machineIds: machine === null ? [] : [machine.id] };
    const { standings, settled } = await inScope(parts.db, { workspaceId }, async (trx) => {
      const budgets = await listBudgets(trx, workspaceId, reader);
      if (budgets.length === 0) return { standings: [], settled: new Set<string>() };
      return {
        standings: await readStandings(trx, workspaceId, budgets, machine?.id ?? null, now),
        settled: await listSettledWarnings(trx, workspaceId, now),
      };
    });
    await warnOfBudgets(parts, { workspaceId, name: key.workspace.name }, standings, settled);
    return answer(200, {
      budgets: standings.map((standing) => ({
        ...toStatedBudget(standing),
        here: `${standing.totals.here}`,
        elsewhere: `${standing.totals.elsewhere}`,
      })),
    });
  },
} satisfies Partial<ApiHandlers>;
