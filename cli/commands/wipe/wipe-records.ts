import type { CommandContext } from "../../program/command-context.ts";
import { confirmAndDelete } from "../../records/confirm-and-delete.ts";

/** The options of `meter wipe`. */
export interface WipeRecordsOptions {
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly json: boolean;
}

/** Deletes all records. */
export async function wipeRecords(context: CommandContext, options: WipeRecordsOptions): Promise<void> {
  const { dryRun, yes, json } = options;
  await confirmAndDelete(context, { before: null, dryRun, yes, json }, (text) => context.print(text));
}
