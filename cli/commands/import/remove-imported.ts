import { LOG_AGENTS } from "../../../core/metering/agent-logs/log-entry.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { confirm } from "../../program/confirm.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { readAgents } from "./read-agents.ts";

/** The options of `meter import remove`. */
export interface RemoveImportedOptions {
  readonly agents: readonly string[];
  readonly yes: boolean;
  readonly json: boolean;
}

/** Deletes the records that were imported from logs. */
export async function removeImported(context: CommandContext, options: RemoveImportedOptions): Promise<void> {
  const agents = readAgents(options.agents);
  const parts: readonly (string | null)[] = agents.length === LOG_AGENTS.length ? [null] : agents;
  await withStore(context.home, { readOnly: false }, async ({ logs }) => {
    const records = parts.reduce((sum, agent) => sum + logs.count(agent), 0);
    const described = formatQuantity(records, "imported record");
    if (
      records > 0 &&
      !options.yes &&
      !(await confirm(context, `Delete ${described}?`, { isPermanent: true }))
    )
      throw new CommandFailure("Nothing was deleted.");
    let removed = 0;
    for (const agent of parts) {
      for (let some = logs.removeSome(agent); some > 0; some = logs.removeSome(agent)) {
        removed += some;
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      logs.forget(agent);
    }
    if (options.json) context.printJson({ removed });
    else
      context.print(
        removed === 0 ? "Nothing was imported." : `Deleted ${formatQuantity(removed, "imported record")}.`,
      );
  });
}
