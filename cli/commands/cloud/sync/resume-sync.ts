import { withCloud } from "../../../cloud/cloud-control.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { CommandFailure } from "../../../program/exit-codes.ts";

/** Resumes sending after a pause. */
export async function resumeSync(context: CommandContext): Promise<void> {
  await withCloud(context, async (cloud) => {
    const { ok, message } = await cloud.resume();
    if (!ok) throw new CommandFailure(message);
    context.print("Sync is resumed.");
  });
}
