import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class PruneCommand extends MeterCommand {
  static override paths = [["prune"]];
  static override usage = Command.Usage({
    category: "Your data",
    description: "Delete records older than a date",
    details: `
      Permanently deletes the requests, captured bodies and coverage from before that day. Requests are deleted only by
      this command and \`meter wipe\`. Records already sent to a cloud stay there.
    `,
    examples: [
      ["Show what would be deleted", "meter prune --before 2026-01-01 --dry-run"],
      ["Delete without asking", "meter prune --before 2026-01-01 --yes"],
    ],
  });

  before = Option.String("--before", {
    required: true,
    description: "The first day to keep, or a time (ISO 8601)",
  });
  utc = Option.Boolean("--utc", false, { description: "Read the day as UTC" });
  dryRun = Option.Boolean("--dry-run", false, {
    description: "Show what would be deleted, without deleting it",
  });
  yes = Option.Boolean("--yes", false, { description: "Don't ask for confirmation" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { pruneRecords } = await import("./prune-records.ts");
    return await pruneRecords(this.commandContext, this);
  }
}
