import { Command, Option } from "clipanion";
import { MeterCommand } from "../meter-command.ts";

export class ExplainCommand extends MeterCommand {
  static override paths = [["explain"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "how one request's cost came about",
    details: `
      Shows the counts that the provider stated, the rate that applied and where it is from, each line of the sum, and
      what was stored. The id may be cut short, or be the provider's own id of the response; \`last\` is the latest.
    `,
    examples: [
      ["One request", "meter explain 019aa8f2"],
      ["The latest", "meter explain last"],
    ],
  });

  id = Option.String({ name: "id" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { withStore } = await import("../open-store.ts");
    const { findRequest } = await import("../find-request.ts");
    const { openPriceBook } = await import("../price-book.ts");
    const { readConfig } = await import("../read-config.ts");
    const { explainRequest } = await import("../../daemon/explain-request.ts");
    const { explanationJson } = await import("../../daemon/api/explanation-json.ts");
    const { forPrograms } = await import("../render/for-programs.ts");
    const { renderExplanation } = await import("../render/explanation.ts");
    const home = meterHome(this.context.env);
    const { operator } = (await readConfig(home, this.context.env)).config.pricing;
    await withStore(home, { readOnly: true }, async (store) => {
      const request = await findRequest(store, this.id);
      const explanation = explainRequest(request, openPriceBook(operator, store));
      if (this.json) {
        this.printJson({
          ...explanationJson(explanation),
          cost_pico_usd: explanation.priced.costPicoUsd,
          factors: forPrograms(explanation.priced.factors),
        });
      } else this.print(renderExplanation(explanation, this.width));
    });
  }
}
