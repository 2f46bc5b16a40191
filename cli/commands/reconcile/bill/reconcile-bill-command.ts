import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";
import { costJsonOption } from "../../../program/report-options.ts";

export class ReconcileBillCommand extends MeterCommand {
  static override paths = [["reconcile", "bill"]];
  static readonly restOfLine = "[file] ...";
  static override usage = Command.Usage({
    category: "Reports",
    description: "Compare a provider's statement with the requests recorded here",
    details: `
      Compares costs by day (UTC) and model, and gives the reason of each difference that it can prove. Reads cost and usage
      reports of Anthropic and OpenAI, OpenRouter's activity and AWS Cost and Usage Reports, as JSON, CSV or Parquet; give the
      costs and the usage together. With --api, it reads the statement from the provider, with an admin key from ANTHROPIC_ADMIN_API_KEY,
      OPENAI_ADMIN_KEY or OPENROUTER_MANAGEMENT_KEY. Exits with 1 if a part of a difference has no known reason.
    `,
    examples: [
      ["Compare exported files", "meter reconcile bill claude_api_cost_2026_11.csv"],
      ["Read it from the provider", "meter reconcile bill --api openai --from 2026-11-01"],
    ],
  });

  files = Option.Rest({ name: "file" });
  api = Option.String("--api", {
    description: "Read the statement from the provider: anthropic, openai or openrouter",
  });
  from = Option.String("--from", { description: "The first day in UTC (with --api: default 30 days back)" });
  to = Option.String("--to", { description: "The last day in UTC" });
  key = Option.String("--key", {
    description: "Only lines with this key, workspace or account, as the statement names it",
  });
  project = Option.String("--project", { description: "Only requests of this project" });
  all = Option.Boolean("--all", false, { description: "Also show what agrees" });
  json = costJsonOption();

  protected override async perform(): Promise<number> {
    const { reconcileBill } = await import("./reconcile-bill.ts");
    return await reconcileBill(this.commandContext, this);
  }
}
