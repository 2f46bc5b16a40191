import type { BudgetView } from "../../daemon/budgets/budget-views.ts";
import { withStore } from "../home/open-store.ts";
import { placeOf } from "../home/place-of.ts";
import { readConfig } from "../home/read-config.ts";
import { findDaemon, readToken } from "./daemon-process.ts";
import { requestDaemon } from "./loopback-client.ts";

/** The budgets, and how many calls were sent since the daemon's start because a budget could not be decided. */
export interface ReadBudgets {
  readonly budgets: readonly BudgetView[];
  /** Null without a daemon. */
  readonly let_through: number | null;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the budgets from the daemon, which applies changes at once, or from the database if it does not run. */
export async function readBudgets(home: string, env: Env): Promise<ReadBudgets> {
  return (await requestBudgets(home)) ?? (await readStoredBudgets(home, env));
}

/** Returns null if no daemon answers, or if it is of a version without budgets. */
export async function requestBudgets(home: string): Promise<ReadBudgets | null> {
  const running = await findDaemon(home);
  if (running === null) return null;
  try {
    const { status, body } = await requestDaemon(running, "/v1/budgets", readToken(home));
    return status === 200 ? (JSON.parse(body) as ReadBudgets) : null;
  } catch {
    return null;
  }
}

async function readStoredBudgets(home: string, env: Env): Promise<ReadBudgets> {
  const { readBudgetsState } = await import("../../daemon/budgets/load-budgets.ts");
  const { budgetViews } = await import("../../daemon/budgets/budget-views.ts");
  const { config } = await readConfig(home, env);
  return await withStore(home, { readOnly: true }, async ({ budgets }) => {
    const now = Date.now();
    const state = readBudgetsState({ budgets, configured: config.budgets, place: placeOf() }, now);
    return { budgets: budgetViews(state, config.budgets, now), let_through: null };
  });
}
