import { Command, Option } from "clipanion";
import { CommandFailure } from "../../program/exit-codes.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../cloud-exit-codes.ts";

export class MigrateCommand extends CloudCommand {
  static override paths = [["migrate"]];
  static override usage = Command.Usage({
    category: "Server",
    description: "Migrate the database to this version",
    details: `
      \`serve\` does this at start unless \`[database] migrate = false\`. In that case run this command first, with the
      database role that owns the tables. It is safe to run concurrently, and servers of the previous version keep
      working on the new tables.

      \`--distribute\` moves the tables of workspaces to the workers of a Citus cluster. Stop the servers first. The rows and sums of
      each table are compared before and after.
    `,
    examples: [
      ["Run before starting a new version", "meter-cloud migrate"],
      ["Distribute the tables over a cluster", "meter-cloud migrate --distribute"],
      ["Print the SQL that distributes the tables", "meter-cloud migrate --distribute --print"],
      [
        "Compare a database with its copy: run on both, and compare the output",
        "meter-cloud migrate --totals",
      ],
    ],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });
  distribute = Option.Boolean("--distribute", false, {
    description: "Distribute the tables over the workers of a Citus cluster",
  });
  printSql = Option.Boolean("--print", false, {
    description: "With --distribute: print the SQL, and change nothing",
  });
  totals = Option.Boolean("--totals", false, {
    description: "Print the rows and sums of each table as JSON, and change nothing",
  });

  protected override async perform(): Promise<void> {
    if (this.printSql && !this.distribute)
      throw new CommandFailure("--print needs --distribute.", cloudExitCodes.usage);
    if (this.printSql) return await this.printDistribution();
    if (this.totals) return this.commandContext.printJson(await this.administer("table_totals", {}));
    const steps = await this.administer("migrate", {});
    if (this.distribute) return await this.distributeTables();
    if (this.json) this.commandContext.printJson({ applied: steps });
    else
      this.commandContext.print(
        steps.length === 0
          ? "The database is up to date."
          : steps.map((step) => `Applied ${step}.`).join("\n"),
      );
  }
  private async printDistribution(): Promise<void> {
    const { distributionSql } = await import("../../../cloud/store/distribute.ts");
    this.commandContext.print(
      distributionSql()
        .map((statement) => `${statement};`)
        .join("\n"),
    );
  }

  private async distributeTables(): Promise<void> {
    const outcome = await this.administer("distribute", {});
    if (outcome.kind === "not_citus") {
      throw new CommandFailure(
        "The database has no Citus extension, so its tables can't be distributed.\nAdd it on every node (docs/cluster.md): create extension citus",
      );
    }
    if (outcome.kind === "different") {
      throw new CommandFailure(
        `The rows or sums of the table ${outcome.table} changed while it was distributed. Do not start a server.\nBefore: ${JSON.stringify(outcome.before)}\nAfter: ${JSON.stringify(outcome.after)}`,
      );
    }
    const { tables, totals } = outcome;
    if (this.json) this.commandContext.printJson({ distributed: tables, totals });
    else if (tables.length === 0) this.commandContext.print("All tables are distributed.");
    else
      this.commandContext.print(
        tables.map((table) => `Distributed ${table}: ${totals[table]?.rows} rows.`).join("\n"),
      );
  }
}
