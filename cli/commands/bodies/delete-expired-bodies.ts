import { sweepCutoff } from "../../../core/privacy/retention/sweep.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { sweepBodies } from "../../../daemon/tasks/body-sweep.ts";
import { withStore } from "../../home/open-store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";

/** What a warning about the retention is about. */
const RETENTION_KEY = "bodies.retention_days";

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
  const { config, warnings, warnedKeys } = await readConfig(home, context.env);
  const { retentionDays } = config.bodies;
  const [problem] = warnedKeys.has(RETENTION_KEY)
    ? warnings.filter((warning) => warning.startsWith(`${RETENTION_KEY}: `))
    : [];
  if (problem !== undefined) throw new CommandFailure(`Nothing was deleted. ${problem}`);
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
