import { UsageError } from "clipanion";
import { countsSame, MAX_BUDGETS, SCOPE_KEYS, type ScopeKey } from "../../../core/budgets/budget.ts";
import { toBudgetInput } from "../../../core/budgets/parse-budget.ts";
import { parseOwnBudget } from "../../../core/budgets/parse-own-budget.ts";
import { parseStored } from "../../../daemon/budgets/load-budgets.ts";
import { localZone } from "../../../daemon/store/days.ts";
import { requestBudgets, warnIfUnconfirmed } from "../../daemon/request-budgets.ts";
import { withStore } from "../../home/open-store.ts";
import { userName } from "../../home/place-of.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { refuseFleetBudget } from "./change-budget.ts";
import { describeBudget } from "./render-budgets.ts";

/** The options of `meter budget set`. */
export interface SetBudgetOptions extends Readonly<Partial<Record<ScopeKey, string[] | undefined>>> {
  readonly name: string;
  readonly amount: string;
  readonly period: string | undefined;
  readonly zone: string | undefined;
  readonly thresholds: string | undefined;
  readonly block: boolean;
  readonly onExceed: string | undefined;
  readonly reserve: boolean;
  readonly failClosed: boolean;
  readonly coolDown: string | undefined;
  readonly json: boolean;
}

/** The option of a key, where it is not the key's own name. */
const OPTION_NAMES: Readonly<Record<string, string>> = { cool_down: "--cool-down", on_exceed: "--on-exceed" };

/** Sets a budget, in place of the one of its name. */
export async function setBudget(context: CommandContext, options: SetBudgetOptions): Promise<void> {
  const { name, amount, period, zone, thresholds, block, onExceed, reserve, failClosed, coolDown, json } =
    options;
  if (!block && (reserve || failClosed || onExceed === "cut"))
    throw new UsageError("--reserve, --fail-closed and --on-exceed cut need --block.");
  if (coolDown !== undefined && thresholds !== undefined)
    throw new UsageError(
      "--thresholds has no effect with --cool-down: a rate guard warns once its amount is used up.",
    );
  const input = {
    ...Object.fromEntries(
      SCOPE_KEYS.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])),
    ),
    ...{ name, amount, reserve, at_limit: block ? "block" : "warn", fail: failClosed ? "closed" : "open" },
    ...(period !== undefined && { period }),
    ...(zone !== undefined && { zone }),
    ...(coolDown !== undefined && { cool_down: coolDown }),
    ...(onExceed !== undefined && { on_exceed: onExceed }),
    ...(thresholds !== undefined && { thresholds: thresholds.split(",").map(Number) }),
  };
  const parsed = parseOwnBudget(input, { zone: localZone() });
  if (!parsed.ok) {
    const { key, problem } = parsed;
    if (key === "name")
      await withStore(context.home, { readOnly: false, create: true }, async ({ notes }) =>
        refuseFleetBudget(notes, name),
      );
    // The problem shows the list as config.toml has it.
    if (key === "thresholds")
      throw new UsageError(
        `Invalid value for --thresholds: ${thresholds}. Expected: whole numbers in percent, such as 50,80,100.`,
      );
    const named = key === "name" || key === "amount" ? `The ${key}` : (OPTION_NAMES[key] ?? `--${key}`);
    throw new UsageError(`${named} ${problem}.`);
  }
  const { budget } = parsed;
  const { config } = await readConfig(context.home, context.env);
  if (config.budgets.some((each) => each.name === budget.name))
    throw new CommandFailure(
      `${budget.name} is set in config.toml. Change it there, or choose another name.`,
    );
  await withStore(context.home, { readOnly: false, create: true }, async ({ budgets }) => {
    const others = budgets.list().filter((each) => each.name !== budget.name);
    if (others.length + config.budgets.length >= MAX_BUDGETS)
      throw new CommandFailure(
        `There are ${MAX_BUDGETS} budgets, which is the maximum.\nRemove one: meter budget remove <name>`,
      );
    // Warnings of other calls, or of another period, are none of this budget's.
    const before = budgets.list().find((each) => each.name === budget.name);
    const earlier = before === undefined ? null : parseStored(before.input);
    if (earlier === null || !countsSame(earlier, budget)) budgets.forgetWarnings(budget.name);
    const action = { at: Date.now(), action: "set", actor: userName(), reason: null, until: null } as const;
    budgets.save(budget.name, JSON.stringify(toBudgetInput(budget)), action);
  });
  const applied = await requestBudgets(context.home);
  if (json) return context.printJson({ budget: toBudgetInput(budget), applied: applied?.confirmed === true });
  context.print(`Set ${describeBudget(toBudgetInput(budget))}.`);
  if (applied === null)
    context.print("The daemon is not running, so nothing is counted. Start it: meter start");
  else warnIfUnconfirmed(context, applied);
}
