import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class StatusCommand extends MeterCommand {
  static override paths = [["status"]];
  static override usage = Command.Usage({
    category: "Daemon",
    description: "Show whether metering works, and what is not metered",
    details:
      "Exits with 3 if the daemon is not running, and with 1 if it runs but does not answer or can't store records.",
    examples: [
      ["Show the status", "meter status"],
      ["Print it as JSON", "meter status --json"],
    ],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { showStatus } = await import("./show-status.ts");
    return await showStatus(this.commandContext, this);
  }
}
