import { Command } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class StopCommand extends MeterCommand {
  static override paths = [["stop"]];
  static override usage = Command.Usage({
    category: "Daemon",
    description: "Stop the daemon",
    details: "Requests in flight get up to ten seconds to finish. Everything metered so far is stored.",
    examples: [["Stop metering", "meter stop"]],
  });

  protected override async perform(): Promise<void> {
    const { stopDaemon } = await import("./stop-daemon.ts");
    return await stopDaemon(this.commandContext);
  }
}
