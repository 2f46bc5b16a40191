import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class WipeCommand extends MeterCommand {
  static override paths = [["wipe"]];
  static override usage = Command.Usage({
    category: "Your data",
    description: "Delete all records",
    details: `
      Deletes all requests, captured bodies, coverage, the origins and merges of projects, the log of what was sent to a
      cloud, and damaged databases that were moved aside. Settings, rates, the certificate authority and the cloud
      connection are kept, and records already sent to a cloud stay there. Asks first.
    `,
    examples: [
      ["Show what would be deleted", "meter wipe --dry-run"],
      ["Delete everything", "meter wipe"],
    ],
  });

  dryRun = Option.Boolean("--dry-run", false, {
    description: "Show what would be deleted, without deleting it",
  });
  yes = Option.Boolean("--yes", false, { description: "Don't ask for confirmation" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { wipeRecords } = await import("./wipe-records.ts");
    return await wipeRecords(this.commandContext, this);
  }
}
