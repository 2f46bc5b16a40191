import { UsageError } from "clipanion";
import { reloadDaemon } from "../../cloud/cloud-control.ts";
import { editConfig } from "../../home/edit-config.ts";
import type { CommandContext } from "../../program/command-context.ts";

/** The options of `meter estimates`. */
export interface SetEstimatesOptions {
  readonly value: string;
}

/** Turns estimates of missing token counts on or off, also in a running daemon. */
export async function setEstimates(context: CommandContext, options: SetEstimatesOptions): Promise<void> {
  if (options.value !== "on" && options.value !== "off")
    throw new UsageError(`Invalid value: ${options.value}. Expected: on or off.`);
  const { home } = context;
  await editConfig(home, [{ path: ["usage", "estimate_missing"], value: options.value === "on" }]);
  await reloadDaemon(home);
  context.print(
    options.value === "on"
      ? "Estimates of missing token counts are on. They apply to new requests, and reports show them separately."
      : "Estimates of missing token counts are off. Counts that a provider does not state are unknown.",
  );
}
