import { Command, Option } from "clipanion";
import { CloudCommand } from "../cloud-command.ts";

export class MigrateCommand extends CloudCommand {
  static override paths = [["migrate"]];
  static override usage = Command.Usage({
    category: "Server",
    description: "bring the database to this version",
    details: `
      \`serve\` does this by itself, unless \`[database] migrate = false\`: then this is run before, with the login that owns
      the tables. Several may run it at once; a server of the version before goes on working on the new tables.
    `,
    examples: [["Before the new version is started", "meter-cloud migrate"]],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { prepareDatabase } = await import("../prepare-database.ts");
    const steps = await this.withDatabase(({ db }) => prepareDatabase(db, () => {}));
    if (this.json) this.printJson({ applied: steps });
    else
      this.print(
        steps.length === 0
          ? "The database is up to date."
          : steps.map((step) => `applied ${step}`).join("\n"),
      );
  }
}
