import { withCloud } from "../../../cloud/cloud-control.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../../program/exit-codes.ts";
import { notConnected } from "../../../program/failures.ts";
import { forPrograms } from "../../../render/for-programs.ts";
import { renderSynced, renderSyncFailure, renderSyncProgress } from "./render-sync.ts";
import { withProgress } from "./with-progress.ts";

/** The options of `meter cloud sync`. */
export interface SendPendingOptions {
  readonly json: boolean;
}

/** Sends all pending records now. */
export async function sendPending(context: CommandContext, options: SendPendingOptions): Promise<number> {
  return await withCloud(context, async (cloud) => {
    const tell = async () => context.notice(renderSyncProgress(await cloud.state()));
    const result = await withProgress(cloud.syncNow(), tell);
    if (options.json) {
      context.printJson(forPrograms(result));
      return result.kind === "synced" ? exitCodes.ok : exitCodes.failed;
    }
    if (result.kind === "not_connected") throw notConnected();
    context.print(renderSynced(result));
    const failure = renderSyncFailure(result, await cloud.state());
    if (failure !== null) throw new CommandFailure(failure);
    return exitCodes.ok;
  });
}
