import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudWhoamiCommand extends MeterCommand {
  static override paths = [["cloud", "whoami"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Show the workspace, user and key of this machine",
    details: "Asks the cloud, so the answer shows whether the key works.",
    examples: [["Show workspace, plan, machine and key", "meter cloud whoami"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { showIdentity } = await import("./show-identity.ts");
    return await showIdentity(this.commandContext, this);
  }
}
