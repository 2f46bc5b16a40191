import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class LimitsCommand extends MeterCommand {
  static override paths = [["limits"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Show the limits of your accounts, and whether they last",
    details: `
      Lists the limits that providers stated with their responses: what is used, when it resets, how much of its time has
      passed, and when it is full at the current rate. The numbers are the provider's, so they include use on other machines.
      With \`--by\`, also estimates which projects, sessions or agents used each window.
    `,
    examples: [
      ["Show all limits", "meter limits"],
      ["Update the list until you press q", "meter limits --watch"],
      ["Show which projects used the windows", "meter limits --by project"],
    ],
  });

  watch = Option.Boolean("--watch", false, { description: "Update the list until you press q" });
  by = Option.String("--by", { description: "Divide each window by project, session or agent" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { showLimits } = await import("./show-limits.ts");
    await showLimits(this.commandContext, this);
  }
}
