import { Command } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class TopCommand extends MeterCommand {
  static override paths = [["top"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Show what is happening now, and keep it up to date",
    details: `
      Shows the calls in flight, the cost of the last hour by minute, the limits, and the latest sessions. Keys: p pauses, up
      and down move through the sessions, q quits. Without a terminal it prints the view once.
    `,
    examples: [["Watch the meter", "meter top"]],
  });

  protected override async perform(): Promise<void> {
    const { showTop } = await import("./show-top.ts");
    await showTop(this.commandContext);
  }
}
