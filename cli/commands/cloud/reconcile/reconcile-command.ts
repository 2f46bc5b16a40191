import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";
import { costJsonOption } from "../../../program/report-options.ts";

export class CloudReconcileCommand extends MeterCommand {
  static override paths = [["cloud", "reconcile"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Compare the totals sent from here with the cloud's",
    details: `
      Requests, tokens and reported costs must match exactly. Costs computed by the cloud may differ by less than half a
      percent. Days are in UTC. Exits with 1 if the totals differ by more.
    `,
    examples: [
      ["Compare the last 30 days", "meter cloud reconcile"],
      ["Compare one month", "meter cloud reconcile --from 2026-11-01 --to 2026-11-30"],
    ],
  });

  from = Option.String("--from", { description: "The first day in UTC (default 30 days back)" });
  to = Option.String("--to", { description: "The last day in UTC (default today)" });
  json = costJsonOption();

  protected override async perform(): Promise<number> {
    const { reconcileTotals } = await import("./reconcile-totals.ts");
    return await reconcileTotals(this.commandContext, this);
  }
}
