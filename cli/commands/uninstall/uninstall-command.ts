import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class UninstallCommand extends MeterCommand {
  static override paths = [["uninstall"]];
  static override usage = Command.Usage({
    category: "Installing",
    description: "Undo what init did",
    details: `
      Undoes each recorded step, the last one first. Files that were changed since are left and listed. The database,
      the configuration and the logs are kept unless you ask for their deletion.
    `,
    examples: [
      ["Show what would be done", "meter uninstall --dry-run"],
      ["Also delete all data and logs", "meter uninstall --purge --include-logs"],
    ],
  });

  purge = Option.Boolean("--purge", false, {
    description: "Also delete the database, configuration and credentials",
  });
  includeLogs = Option.Boolean("--include-logs", false, { description: "Also delete the logs" });
  dryRun = Option.Boolean("--dry-run", false, { description: "Show the plan without changing anything" });
  yes = Option.Boolean("--yes", false, { description: "Don't ask for confirmation" });

  protected override async perform(): Promise<number> {
    const { uninstallMeter } = await import("./uninstall-meter.ts");
    return await uninstallMeter(this.commandContext, this);
  }
}
