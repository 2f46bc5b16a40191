import process from "node:process";
import { desktopCommand, type ProgramCall } from "../../../adapters/notifications/desktop-command.ts";
import { runProgram } from "../../../adapters/notifications/run-program.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { BudgetNotice } from "../../../daemon/budgets/budget-notice.ts";
import { budgetNoticeFields, describeNotice } from "../../../daemon/budgets/notice-text.ts";
import { formatClock } from "../../render/limit-text.ts";

/** How many programs run at once. A warning beyond that is only in the log. */
const MAX_RUNNING = 8;

/** Creates what tells the user of budgets: a notification on the desktop, and the program of the configuration. */
export function createNotifyUser(
  { desktop, command }: Config["budgetWarnings"],
  log: Log,
  run: (call: ProgramCall) => Promise<string | null> = runProgram,
): (notice: BudgetNotice) => void {
  let running = 0;
  const start = (task: string, call: ProgramCall | null) => {
    if (call === null || running >= MAX_RUNNING) return;
    running += 1;
    void run(call).then((problem) => {
      running -= 1;
      // Many machines have no desktop.
      if (problem !== null && task === "budget_command")
        log.error("daemon.task_crashed", { task, error: problem });
    });
  };
  const [file, ...args] = command;
  return (notice) => {
    const now = Date.now();
    const text = describeNotice(notice, (at) => formatClock(at, now));
    const isForPeople = notice.event !== "budget.lifted" && notice.event !== "budget.lift_ended";
    if (desktop && isForPeople) start("desktop", desktopCommand(process.platform, text, process.env));
    if (file !== undefined) start("budget_command", { file, args, env: variablesOf(notice, text) });
  };
}

/** Returns the facts of a notice as variables: `METER_BUDGET`, `METER_USED_PERCENT`, … */
function variablesOf(notice: BudgetNotice, text: string): Record<string, string> {
  const fields = Object.entries(budgetNoticeFields(notice)).filter(([, value]) => value != null);
  const named = fields.map(([name, value]): [string, string] => [`METER_${name.toUpperCase()}`, `${value}`]);
  return { METER_EVENT: notice.event, METER_TEXT: text, ...Object.fromEntries(named) };
}
