import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class PricingListCommand extends MeterCommand {
  static override paths = [["pricing", "list"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "List the rates in force",
    details:
      "Rates are in USD per million tokens. If several sources have a rate for a model, the one that applies today is shown.",
    examples: [
      ["List all rates", "meter pricing list"],
      ["List Anthropic models whose name contains sonnet", "meter pricing list --provider anthropic sonnet"],
    ],
  });

  provider = Option.String("--provider", { description: "Only this provider" });
  json = Option.Boolean("--json", false, {
    description: "Print JSON, with rates in micro-USD per million tokens",
  });
  word = Option.String({ name: "word", required: false });

  protected override async perform(): Promise<void> {
    const { listRates } = await import("./list-rates.ts");
    return await listRates(this.commandContext, this);
  }
}

export class PricingStatusCommand extends MeterCommand {
  static override paths = [["pricing", "status"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Show where the rates come from and how old they are",
    examples: [["Show the age and number of rates by source", "meter pricing status"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { showPricingStatus } = await import("./show-pricing-status.ts");
    return await showPricingStatus(this.commandContext, this);
  }
}

export class PricingRefreshCommand extends MeterCommand {
  static override paths = [["pricing", "refresh"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Pull the published rates now",
    details: `
      Pulls from \`[pricing] pull_url\` if it is set, otherwise from the cloud. A pull is applied as a whole or not at
      all: if one rate changes more than tenfold, the whole pull is rejected. Stored requests keep their cost; see
      \`meter recompute-costs\`.
    `,
    examples: [["Pull once", "meter pricing refresh"]],
  });

  protected override async perform(): Promise<void> {
    const { pullRates } = await import("./pull-rates.ts");
    return await pullRates(this.commandContext);
  }
}

export class PricingAutoPullCommand extends MeterCommand {
  static override paths = [["pricing", "auto-pull"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Turn regular pulls of the published rates on or off",
    examples: [
      ["Pull every six hours, or as [pricing] pull_interval is set", "meter pricing auto-pull on"],
      ["Stop pulling", "meter pricing auto-pull off"],
    ],
  });

  value = Option.String({ name: "on|off" });

  protected override async perform(): Promise<void> {
    const { setAutoPull } = await import("./set-auto-pull.ts");
    return await setAutoPull(this.commandContext, this);
  }
}
