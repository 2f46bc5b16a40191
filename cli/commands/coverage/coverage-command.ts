import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";
import { fromOption, sinceOption, toOption, utcOption } from "../../program/report-options.ts";

export class CoverageCommand extends MeterCommand {
  static override paths = [["coverage"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Show which calls to providers were not metered, and why",
    details: `
      Lists each host, method and path that was not metered, how often and when it was last seen, with what that means for
      the totals and how to change it. In a path, {id} stands for ids, models and other names, which are not stored. Times
      are the start of a quarter of an hour. Also lists the times in which the meter was not running.
    `,
    examples: [
      ["Show all gaps", "meter coverage"],
      ["Show the gaps of the last day", "meter coverage --since 24h"],
    ],
  });

  since = sinceOption();
  from = fromOption();
  to = toOption();
  utc = utcOption();
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { printCoverage } = await import("./print-coverage.ts");
    return await printCoverage(this.commandContext, this);
  }
}
