import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";
import { costJsonOption, sinceOption, utcOption } from "../../../program/report-options.ts";

export class ReconcileLogsCommand extends MeterCommand {
  static override paths = [["reconcile", "logs"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Compare metered calls with the logs and reports of agents",
    details: `
      Compares what passed through the proxy with what coding agents wrote to their own logs and with what they report by
      OpenTelemetry, by session and day. Says which calls only one of them saw, and why if a fact shows it. The logs are
      only read. Exits with 1 if a difference has no known reason.
    `,
    examples: [
      ["Compare the last 7 days", "meter reconcile logs"],
      ["Compare one session", "meter reconcile logs --session 5e55 --all"],
    ],
  });

  since = sinceOption("7d");
  session = Option.String("--session", { description: "Only the session whose id begins with this" });
  all = Option.Boolean("--all", false, { description: "Also show what agrees" });
  utc = utcOption();
  json = costJsonOption();
  csv = Option.Boolean("--csv", false, { description: "Print CSV: one line for each difference" });

  protected override async perform(): Promise<number> {
    const { reconcileLogs } = await import("./reconcile-logs.ts");
    return await reconcileLogs(this.commandContext, this);
  }
}
