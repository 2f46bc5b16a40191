import { UsageError } from "clipanion";
import type { CommandContext } from "../../program/command-context.ts";
import { readPeriod } from "../../program/period.ts";
import { confirmAndDelete } from "../../records/confirm-and-delete.ts";

/** The options of `meter prune`. */
export interface PruneRecordsOptions {
  readonly before: string;
  readonly utc: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly json: boolean;
}

/** Deletes records older than a date. */
export async function pruneRecords(context: CommandContext, options: PruneRecordsOptions): Promise<void> {
  const period = readPeriod(
    { from: options.before, since: undefined, to: undefined },
    Date.now(),
    options.utc,
  );
  if (period.from === null) throw new UsageError("--before needs a date.");
  if (period.from > Date.now())
    throw new UsageError(`--before is in the future: ${options.before}.\nDelete everything: meter wipe`);
  const { dryRun, yes, json } = options;
  await confirmAndDelete(context, { before: period.from, dryRun, yes, json }, (text) => context.print(text));
}
