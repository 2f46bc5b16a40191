import { Command, Option, UsageError } from "clipanion";
import { branchOption, commitOption, pullRequestOption } from "../../program/git-filters.ts";
import { MeterCommand } from "../../program/meter-command.ts";
import {
  costJsonOption,
  csvOption,
  fromOption,
  modelOption,
  projectOption,
  providerOption,
  sinceOption,
  toOption,
  utcOption,
} from "../../program/report-options.ts";
import { groupings } from "./groupings.ts";

export class ReportCommand extends MeterCommand {
  static override paths = [["report"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Show what was used and what it cost",
    details: `
      What was spent, what plans covered (at API prices) and calls with unknown billing are separate sums. Sums are exact.
      Requests without a known price are counted as unpriced and are not in the sum. With --json, costs stated by providers
      and computed costs are listed separately. Days are in local time unless --utc is given. --as is an estimate; its default
      period is the last 30 days.
    `,
    examples: [
      ["Show everything by project", "meter report"],
      ["Show the last seven days by model", "meter report --by model --since 7d"],
      [
        "Show one project day by day in November",
        "meter report --by day --project web --from 2026-11-01 --to 2026-11-30",
      ],
      ["Show each model's use per week", "meter report --by model,week"],
      ["Show what each branch cost in the last seven days", "meter report --by branch --since 7d"],
      [
        "Estimate what the last 30 days would have cost on another model",
        "meter report --as anthropic/claude-haiku-4-5",
      ],
      ["Export a spreadsheet", "meter report --by day --csv"],
    ],
  });

  by = Option.String("--by", {
    description: `Group by one or two (with a comma) of ${groupings.join(", ")}`,
  });
  as = Option.String("--as", {
    description:
      "Estimate what the same tokens would have cost on a model, such as anthropic/claude-sonnet-4-5",
  });
  since = sinceOption();
  from = fromOption();
  to = toOption();
  project = projectOption();
  model = modelOption();
  provider = providerOption();
  session = Option.String("--session", { description: "Only the session with this id" });
  branch = branchOption();
  commit = commitOption();
  pr = pullRequestOption();
  utc = utcOption();
  json = costJsonOption();
  csv = csvOption();

  protected override async perform(): Promise<void> {
    const { as, by } = this;
    if (as !== undefined) {
      if (by !== undefined) throw new UsageError("--by and --as can't be combined.");
      const { printComparison } = await import("./print-comparison.ts");
      return await printComparison(this.commandContext, { ...this.reportOptions(), as });
    }
    const { printReport } = await import("./print-report.ts");
    return await printReport(this.commandContext, { ...this.reportOptions(), by: by ?? "project" });
  }

  private reportOptions() {
    const { since, from, to, project, model, provider, session, branch, commit, pr, utc, json, csv } = this;
    return { since, from, to, project, model, provider, session, branch, commit, pr, utc, json, csv };
  }
}
