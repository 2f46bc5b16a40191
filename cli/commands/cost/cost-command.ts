import { Command } from "clipanion";
import { branchOption, commitOption, pullRequestOption } from "../../program/git-filters.ts";
import { MeterCommand } from "../../program/meter-command.ts";
import {
  costJsonOption,
  fromOption,
  sinceOption,
  toOption,
  utcOption,
} from "../../program/report-options.ts";

export class CostCommand extends MeterCommand {
  static override paths = [["cost"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Show what a branch, a commit or a pull request cost",
    details: `
      A call belongs to the branch and the commit that were checked out in its program's working directory when it began.
      In a repository with a remote, only its calls are counted. Without an option, the command shows the branch that is
      checked out.
    `,
    examples: [
      ["Show the cost of the branch that is checked out", "meter cost"],
      ["Show the cost of a pull request", "meter cost --pr 12"],
    ],
  });

  branch = branchOption();
  commit = commitOption();
  pr = pullRequestOption();
  since = sinceOption();
  from = fromOption();
  to = toOption();
  utc = utcOption();
  json = costJsonOption();

  protected override async perform(): Promise<void> {
    const { printCost } = await import("./print-cost.ts");
    return await printCost(this.commandContext, this);
  }
}
