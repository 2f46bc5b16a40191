import { describePause } from "../../../../daemon/cloud/describe-pause.ts";
import { withCloud } from "../../../cloud/cloud-control.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../../program/exit-codes.ts";
import { cloudUnreachable, notConnected } from "../../../program/failures.ts";
import { printable } from "../../../render/printable.ts";

/** The options of `meter cloud whoami`. */
export interface ShowIdentityOptions {
  readonly json: boolean;
}

/** Shows the workspace, user and key of this machine. */
export async function showIdentity(context: CommandContext, options: ShowIdentityOptions): Promise<number> {
  return await withCloud(context, async (cloud) => {
    const result = await cloud.whoami();
    switch (result.kind) {
      case "valid": {
        const { workspace, machine, user, key } = result.whoami;
        if (options.json) context.printJson(result.whoami);
        else {
          const stores = workspace.store_prompt_content ? "stored" : "not stored";
          const lines = [
            `workspace  ${workspace.name} (${workspace.plan}), ${workspace.id}`,
            `bodies     ${stores} by this workspace`,
            `machine    ${machine === null ? "none: the key belongs to a person" : `${machine.hostname}, ${machine.id}`}`,
            ...(user === null
              ? []
              : [`user       ${user.name || user.id}, who owns this machine's requests and prompts`]),
            `key        ${key.prefix} (${key.scope}), created ${key.created_at}`,
          ];
          context.print(lines.map(printable).join("\n"));
        }
        return exitCodes.ok;
      }
      case "not_connected":
        throw notConnected();
      case "key_invalid":
        throw new CommandFailure(describePause("paused_unauthorised", null));
      case "forbidden":
        throw new CommandFailure(describePause("paused_forbidden", result.code));
      case "failed":
        throw cloudUnreachable(result.error);
    }
  });
}
