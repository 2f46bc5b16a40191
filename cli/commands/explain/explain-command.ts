import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class ExplainCommand extends MeterCommand {
  static override paths = [["explain"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Show how the cost of one request was calculated",
    details: `
      Shows the token counts the provider reported, the rate that applied and its source, each line of the calculation,
      and the stored cost. The id is a prefix of the request id, the provider's own response id, or \`last\` for the
      latest request.
    `,
    examples: [
      ["Explain one request", "meter explain 019aa8f2"],
      ["Explain the latest request", "meter explain last"],
    ],
  });

  id = Option.String({ name: "id" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { explainCost } = await import("./explain-cost.ts");
    return await explainCost(this.commandContext, this);
  }
}
