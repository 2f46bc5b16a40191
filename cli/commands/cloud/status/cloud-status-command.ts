import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudStatusCommand extends MeterCommand {
  static override paths = [["cloud", "status"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Show whether this machine is connected and what is pending",
    details:
      "The first word is ACTIVE, DEGRADED, PAUSED or NOT-CONFIGURED. Exits with 1 if it is DEGRADED or PAUSED, or if config.toml can't be read.",
    examples: [
      ["Show the status", "meter cloud status"],
      ["Print it as JSON", "meter cloud status --json"],
    ],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { showCloudStatus } = await import("./show-cloud-status.ts");
    return await showCloudStatus(this.commandContext, this);
  }
}
