import { FLEET_PREFIX } from "../../budgets/parse-fleet-budget.ts";
import { formatQuantity } from "../../values/text/format-quantity.ts";
import { quoteIfNeeded } from "../../values/text/shell-words.ts";
import type { DoctorFacts } from "./doctor-facts.ts";
import { type Finding, inconsistent, note, ok } from "./finding.ts";

/** Checks the budgets. They are optional, so nothing is found if there are none. Invalid ones are warnings of the configuration. */
export function checkBudgets({ budgets }: DoctorFacts): Finding[] {
  if (budgets === null) return [];
  const { count, unread, refusing, usedUp, letThrough, isConfirmed } = budgets;
  const list = { fixCommand: "meter budget list" };
  const found: Finding[] = [];
  if (unread.length > 0)
    found.push(
      inconsistent(
        "budgets",
        `The records of ${nameAll(unread)} can't be read, so the sums are not known.`,
        list,
      ),
    );
  if (!isConfirmed)
    found.push(
      inconsistent("budgets", "The proxy has not confirmed that it applies the budgets.", {
        fixCommand: "meter status",
      }),
    );
  for (const name of refusing)
    found.push(note("budgets", `Budget ${name} is used up. Its calls are refused.`, fixOf(name)));
  if (usedUp.length > 0)
    found.push(note("budgets", `Used up, without an effect on calls: ${usedUp.join(", ")}.`, list));
  if (letThrough > 0)
    found.push(
      note(
        "budgets",
        `${formatQuantity(letThrough, "call")} went without a decision of a budget since the daemon started.`,
        list,
      ),
    );
  if (found.length > 0 || count === 0) return found;
  return [ok("budgets", `${formatQuantity(count, "budget")}, none used up.`)];
}

const nameAll = (names: readonly string[]): string =>
  names.length === 1 ? `budget ${names[0]}` : `budgets ${names.join(", ")}`;

/** The command that lifts a budget. Only administrators of its workspace change a fleet budget. */
function fixOf(name: string) {
  const quoted = quoteIfNeeded(name);
  const what = name.startsWith(FLEET_PREFIX) ? `show ${quoted}` : `lift ${quoted} --for 1h`;
  return { fixCommand: `meter budget ${what}` };
}
