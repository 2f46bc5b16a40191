import { UsageError } from "clipanion";
import { parseDuration } from "../../../core/values/duration.ts";
import { listFleetBudgets } from "../../../daemon/budgets/fleet-budgets.ts";
import type { BudgetAction, BudgetStore } from "../../../daemon/store/port/budgets.ts";
import type { NoteStore } from "../../../daemon/store/port/settings.ts";
import { requestBudgets, warnIfUnconfirmed } from "../../daemon/request-budgets.ts";
import { withStore } from "../../home/open-store.ts";
import { userName } from "../../home/place-of.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { formatClock } from "../../render/limit-text.ts";

/** The longest lift: longer is a pause. */
const MAX_LIFT_MS = 31 * 86_400_000;

const MAX_REASON = 500;

/** Pauses a budget, or ends a pause or a lift. */
export async function pauseBudget(context: CommandContext, name: string, isPaused: boolean): Promise<void> {
  await change(context, name, (budgets) =>
    budgets.mark({ name, isPaused, liftedUntil: null }, actionOf(isPaused ? "paused" : "resumed")),
  );
  context.print(
    isPaused ? `${name} is paused. Resume it: meter budget resume ${quote(name)}` : `${name} applies.`,
  );
}

/** Lets calls pass a budget for a while. */
export async function liftBudget(
  context: CommandContext,
  name: string,
  options: { readonly for: string; readonly reason: string | undefined },
): Promise<void> {
  const lengthMs = parseDuration(options.for);
  if (lengthMs === null || lengthMs === 0 || lengthMs > MAX_LIFT_MS)
    throw new UsageError(
      `Invalid value for --for: ${options.for}. Expected: a duration of up to 31d, such as 1h.`,
    );
  const reason = options.reason?.trim().slice(0, MAX_REASON) || null;
  const now = Date.now();
  const until = now + lengthMs;
  await change(context, name, (budgets) => {
    const isPaused = budgets.marks().find((mark) => mark.name === name)?.isPaused ?? false;
    budgets.mark({ name, isPaused, liftedUntil: until }, { ...actionOf("lifted"), reason, until });
  });
  context.print(
    `${name} is lifted until ${formatClock(until, now)}. End that now: meter budget resume ${quote(name)}`,
  );
}

/** Removes a budget that was set on the command line. */
export async function removeBudget(context: CommandContext, name: string): Promise<void> {
  const { config } = await readConfig(context.home, context.env);
  if (config.budgets.some((each) => each.name === name))
    throw new CommandFailure(`${name} is set in config.toml. Remove it there.`);
  await change(context, name, (budgets) => void budgets.remove(name, actionOf("removed")));
  context.print(`Removed ${name}. Its records are kept.`);
}

const quote = (name: string) => (/\s/.test(name) ? `'${name}'` : name);

const actionOf = (action: BudgetAction["action"]): BudgetAction => ({
  ...{ at: Date.now(), action, actor: userName() },
  ...{ reason: null, until: null },
});

/** Fails if a workspace set the budget: only its administrators can change it. */
export function refuseFleetBudget(notes: Pick<NoteStore, "read">, name: string): void {
  const found = listFleetBudgets(notes).find(({ budget }) => budget.name === name);
  if (found?.fleet === undefined) return;
  const { workspace, address } = found.fleet;
  throw new CommandFailure(
    `${name} is set by the workspace ${workspace}, so this machine can't change it.\nAn administrator of the workspace can: ${address}`,
  );
}

/** Changes a budget that exists, and lets the daemon apply that at once. */
async function change(
  context: CommandContext,
  name: string,
  work: (budgets: BudgetStore) => void,
): Promise<void> {
  const { config } = await readConfig(context.home, context.env);
  await withStore(context.home, { readOnly: false }, async ({ budgets, notes }) => {
    refuseFleetBudget(notes, name);
    const names = [...config.budgets.map((each) => each.name), ...budgets.list().map((each) => each.name)];
    if (!names.includes(name))
      throw new CommandFailure(
        `There is no budget ${name}.\nList the budgets: meter budget list`,
        exitCodes.notFound,
      );
    work(budgets);
  });
  warnIfUnconfirmed(context, await requestBudgets(context.home));
}
