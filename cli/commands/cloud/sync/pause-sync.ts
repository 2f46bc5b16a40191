import { describePause } from "../../../../daemon/cloud/describe-pause.ts";
import { withCloud } from "../../../cloud/cloud-control.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { notConnected } from "../../../program/failures.ts";

/** Stops sending to the cloud until resumed. */
export async function pauseSync(context: CommandContext): Promise<void> {
  await withCloud(context, async (cloud) => {
    const result = await cloud.pause();
    if (result.kind === "not_connected") throw notConnected();
    if (result.kind === "paused") return context.print("Sync is paused.\nResume: meter cloud resume");
    const { sync } = await cloud.state();
    context.print(`Nothing changed. ${describePause(result.pausedReason, sync.pausedCode)}`);
  });
}
