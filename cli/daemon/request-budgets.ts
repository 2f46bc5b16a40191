import type { BudgetView } from "../../daemon/budgets/budget-views.ts";
import type { CommandContext } from "../program/command-context.ts";
import { findDaemon, readToken } from "./daemon-process.ts";
import { requestDaemon } from "./loopback-client.ts";

/** The budgets, and how many calls were sent since the daemon started although a budget could not decide on them. */
export interface ReadBudgets {
  readonly budgets: readonly BudgetView[];
  /** Null without a daemon. */
  readonly let_through: number | null;
  /** How many of these calls were sent before the budgets were read. */
  readonly let_through_early: number | null;
  /** Whether the proxy has confirmed that it applies the budgets. Null without a daemon. */
  readonly confirmed: boolean | null;
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

/** Warns if the proxy has not confirmed a change of budgets: until it has, calls are decided as before. */
export function warnIfUnconfirmed(
  { notice }: Pick<CommandContext, "notice">,
  budgets: ReadBudgets | null,
): void {
  if (budgets?.confirmed === false)
    notice("The proxy has not confirmed the change yet. See what is wrong: meter status");
}
