import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";
import { FROM, SINCE, TO } from "../../program/period-options.ts";

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
  since = Option.String("--since", { description: SINCE });
  from = Option.String("--from", { description: FROM });
  to = Option.String("--to", { description: TO });
  utc = Option.Boolean("--utc", false, { description: "Use days in UTC" });
  json = Option.Boolean("--json", false, {
    description: "Print JSON, with money in pico-USD as decimal strings",
  });

  protected override async perform(): Promise<void> {
    const { recomputeStoredCosts } = await import("./recompute-stored-costs.ts");
    return await recomputeStoredCosts(this.commandContext, this);
  }
}
