import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";
import {
  costJsonOption,
  fromOption,
  sinceOption,
  toOption,
  utcOption,
} from "../../program/report-options.ts";

export class SavingsCommand extends MeterCommand {
  static override paths = [["savings"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Show what could cost less, and what prompt caches saved",
    details: `
      Shows what prompt caches saved, net of what writing to them cost. Lists repeated prompts, caches that cost more than they
      saved, and long prompts without a cache. A saving that would be a guess is shown as unknown. The default period is the
      last 30 days.
    `,
    examples: [
      ["Show the savings of the last 30 days", "meter savings"],
      ["Show the savings of one project in the last 7 days", "meter savings --since 7d --project acme-web"],
    ],
  });

  project = Option.String("--project", { description: "Only calls of this project" });
  model = Option.String("--model", { description: "Only calls of this model" });
  since = sinceOption();
  from = fromOption();
  to = toOption();
  utc = utcOption();
  json = costJsonOption();

  protected override async perform(): Promise<void> {
    const { printSavings } = await import("./print-savings.ts");
    return await printSavings(this.commandContext, this);
  }
}
