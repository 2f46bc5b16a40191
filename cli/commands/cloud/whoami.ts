import { Command, Option } from "clipanion";
import { ConnectedCommand } from "../../connected-command.ts";
import { CommandFailure, exitCodes } from "../../exit-codes.ts";

export class CloudWhoamiCommand extends ConnectedCommand {
  static override paths = [["cloud", "whoami"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "ask the cloud whom this machine's key stands for",
    examples: [["Workspace, plan, machine, key", "meter cloud whoami"]],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<number> {
    const { printable } = await import("../../render/printable.ts");
    return await this.withCloud(async (cloud) => {
      const result = await cloud.whoami();
      switch (result.kind) {
        case "valid": {
          const { workspace, machine, key } = result.whoami;
          if (this.json) this.printJson(result.whoami);
          else {
            const stores = workspace.store_prompt_content ? "stored" : "not stored";
            const lines = [
              `workspace  ${workspace.name} (${workspace.plan}), ${workspace.id}`,
              `bodies     ${stores} by this workspace`,
              `machine    ${machine === null ? "none: a person's key" : `${machine.hostname}, ${machine.id}`}`,
              `key        ${key.prefix} (${key.scope}), of ${key.created_at}`,
            ];
            this.print(lines.map(printable).join("\n"));
          }
          return exitCodes.ok;
        }
        case "not_connected":
          throw new CommandFailure("this machine is not connected: meter cloud connect");
        case "key_invalid":
          throw new CommandFailure("the key is not valid any more: meter cloud connect --force");
        case "forbidden":
          throw new CommandFailure(
            `this machine may not send to the workspace${result.code === null ? "" : ` (${result.code})`}: ask its owner to re-invite it`,
          );
        case "failed":
          throw new CommandFailure(`the cloud could not be asked: ${result.error}`);
      }
    });
  }
}
