import { UsageError } from "clipanion";
import { reloadDaemon } from "../../cloud/cloud-control.ts";
import { editConfig } from "../../home/edit-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { checkSourceName } from "./check-source-name.ts";

/** The options of `meter pricing auto-pull`. */
export interface SetAutoPullOptions {
  readonly value: string | undefined;
  readonly source: string | undefined;
}

/** Turns regular pulls of the published rates on or off, and sets their source. */
export async function setAutoPull(context: CommandContext, options: SetAutoPullOptions): Promise<void> {
  const { source, value = source === undefined ? undefined : "on" } = options;
  if (value === undefined) throw new UsageError("The argument is missing. Expected: on or off.");
  if (value !== "on" && value !== "off")
    throw new UsageError(`Invalid value: ${value}. Expected: on or off.`);
  if (source !== undefined) checkSourceName(source);
  const { home } = context;
  await editConfig(home, [
    { path: ["pricing", "auto_pull"], value: value === "on" },
    ...(source === undefined ? [] : [{ path: ["pricing", "source"], value: source }]),
  ]);
  await reloadDaemon(home);
  context.print(`Auto-pull of rates is ${value}${source === undefined ? "" : `, from ${source}`}.`);
}
