import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";
import {
  costJsonOption,
  fromOption,
  sinceOption,
  toOption,
  utcOption,
} from "../../program/report-options.ts";

export class RecomputeCostsCommand extends MeterCommand {
  static override paths = [["recompute-costs"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Recompute the cost of stored requests with the current rates",
    details: `
      Stored costs change only when you run this command, never through an update or a new rate. Each request is priced
      with the rate that applies on its own date. Costs stated by the provider are kept.
    `,
    examples: [
      ["Show what would change", "meter recompute-costs --dry-run"],
      ["Recompute since a date", "meter recompute-costs --from 2026-11-01"],
    ],
  });

  dryRun = Option.Boolean("--dry-run", false, { description: "Show what would change, without changing it" });
  since = sinceOption();
  from = fromOption();
  to = toOption();
  utc = utcOption();
  json = costJsonOption();

  protected override async perform(): Promise<void> {
    const { recomputeStoredCosts } = await import("./recompute-stored-costs.ts");
    return await recomputeStoredCosts(this.commandContext, this);
  }
}
