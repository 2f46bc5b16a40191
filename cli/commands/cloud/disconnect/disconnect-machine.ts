import { withCloud } from "../../../cloud/cloud-control.ts";
import type { CommandContext } from "../../../program/command-context.ts";

/** Revokes this machine's key and deletes it. */
export async function disconnectMachine(context: CommandContext): Promise<void> {
  await withCloud(context, async (cloud) => {
    const result = await cloud.disconnect();
    if (result.kind === "not_connected") return context.print("This machine is not connected.");
    context.print("Disconnected. Metering continues.");
    if (!result.revoked) {
      context.notice(
        `The key was deleted here but could not be revoked (${result.error}). A copy of it would still work. Revoke it in the dashboard.`,
      );
    }
  });
}
