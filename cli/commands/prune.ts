import { Command, Option, UsageError } from "clipanion";
import { MeterCommand } from "../meter-command.ts";

export class PruneCommand extends MeterCommand {
  static override paths = [["prune"]];
  static override usage = Command.Usage({
    category: "Your data",
    description: "delete what was captured before a date",
    details: `
      Requests, captured bodies and coverage of before that day go for good; nothing else ever deletes requests. What a
      cloud has already stays there. \`--dry-run\` shows what would go.
    `,
    examples: [
      ["What would go", "meter prune --before 2026-01-01 --dry-run"],
      ["Delete it without being asked", "meter prune --before 2026-01-01 --yes"],
    ],
  });

  before = Option.String("--before", {
    required: true,
    description: "the first day that stays, or an instant (ISO 8601)",
  });
  utc = Option.Boolean("--utc", false, { description: "the day in UTC" });
  dryRun = Option.Boolean("--dry-run", false, { description: "delete nothing" });
  yes = Option.Boolean("--yes", false, { description: "don't ask" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { readPeriod } = await import("../period.ts");
    const period = readPeriod({ from: this.before, since: undefined, to: undefined }, Date.now(), this.utc);
    if (period.from === null) throw new UsageError("--before takes a date");
    if (period.from > Date.now())
      throw new UsageError(`that is in the future: ${this.before}; meter wipe deletes everything`);
    const { askAndDelete } = await import("../ask-and-delete.ts");
    const { dryRun, yes, json } = this;
    await askAndDelete(this.context, { before: period.from, dryRun, yes, json }, (text) => this.print(text));
  }
}
