import { Command, Option } from "clipanion";
import { CloudCommand } from "../cloud-command.ts";

export class MigrateCommand extends CloudCommand {
  static override paths = [["migrate"]];
  static override usage = Command.Usage({
    category: "Server",
    description: "Migrate the database to this version",
    details: `
      \`serve\` does this at start unless \`[database] migrate = false\`. In that case run this command first, with the
      database role that owns the tables. It is safe to run concurrently, and servers of the previous version keep
      working on the new tables.
    `,
    examples: [["Run before starting a new version", "meter-cloud migrate"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const steps = await this.administer("migrate", {});
    if (this.json) this.commandContext.printJson({ applied: steps });
    else
      this.commandContext.print(
        steps.length === 0
          ? "The database is up to date."
          : steps.map((step) => `Applied ${step}.`).join("\n"),
      );
  }
}
