import { UsageError } from "clipanion";
import { reloadDaemon } from "../../cloud/cloud-control.ts";
import { editConfig } from "../../home/edit-config.ts";
import type { CommandContext } from "../../program/command-context.ts";

/** The options of `meter pricing auto-pull`. */
export interface SetAutoPullOptions {
  readonly value: string;
}

/** Turns regular pulls of the published rates on or off. */
export async function setAutoPull(context: CommandContext, options: SetAutoPullOptions): Promise<void> {
  if (options.value !== "on" && options.value !== "off")
    throw new UsageError(`Invalid value: ${options.value}. Expected: on or off.`);
  const { home } = context;
  await editConfig(home, [{ path: ["pricing", "auto_pull"], value: options.value === "on" }]);
  await reloadDaemon(home);
  context.print(`Auto-pull of rates is ${options.value}.`);
}
