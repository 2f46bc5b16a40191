import { sweepCutoff } from "../../../core/privacy/retention/sweep.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { sweepBodies } from "../../../daemon/tasks/body-sweep.ts";
import { withStore } from "../../home/open-store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";

/** The options of `meter bodies sweep`. */
export interface DeleteExpiredBodiesOptions {
  readonly dryRun: boolean;
}

/** Deletes captured bodies past their retention. */
export async function deleteExpiredBodies(
  context: CommandContext,
  options: DeleteExpiredBodiesOptions,
): Promise<void> {
  const { home } = context;
  const { retentionDays } = (await readConfig(home, context.env)).config.bodies;
  await withStore(home, { readOnly: options.dryRun }, async (store) => {
    const now = Date.now();
    const bodies = (n: number) =>
      `${formatQuantity(n, "body", "bodies")} older than ${formatQuantity(retentionDays, "day")}`;
    if (options.dryRun)
      return context.print(
        `Would delete ${bodies(store.bodies.countBefore(sweepCutoff(now, retentionDays)))}.`,
      );
    context.print(
      `Deleted ${bodies(await sweepBodies({ store, retentionDays, atTurnEnd: setImmediate }, now))}.`,
    );
  });
}
