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
      ["List the rates on which sources disagree", "meter pricing list --disputed"],
      ["List Anthropic models whose name contains sonnet", "meter pricing list --provider anthropic sonnet"],
    ],
  });

  provider = Option.String("--provider", { description: "Only this provider" });
  disputed = Option.Boolean("--disputed", false, {
    description: "Only rates on which the bundled rates and the pulled price lists disagree",
  });
  json = Option.Boolean("--json", false, {
    description: "Print JSON, with rates in micro-USD per million tokens",
  });
  word = Option.String({ name: "word", required: false });

  protected override async perform(): Promise<void> {
    if (this.disputed) {
      const { listDisputes } = await import("./list-disputes.ts");
      return await listDisputes(this.commandContext, this);
    }
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

export class PricingSourcesCommand extends MeterCommand {
  static override paths = [["pricing", "sources"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "List the price lists to pull from, with their age",
    examples: [["List the sources, and when each was last pulled", "meter pricing sources"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { listSources } = await import("./list-sources.ts");
    return await listSources(this.commandContext, this);
  }
}

const sourceOption =
  "litellm, models.dev, genai-prices, openrouter or cloud; by default, the configured source";

export class PricingPullCommand extends MeterCommand {
  static override paths = [["pricing", "pull"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Pull the published rates now",
    details: `
      Pulls from \`[pricing] source\` or \`pull_url\` if one is set, otherwise from the cloud. Rates of a public price
      list that change more than tenfold or between free and paid are held back; the others apply from today. A pull from
      the cloud is applied as a whole or not at all. Stored requests keep their cost; see \`meter recompute-costs\`.
    `,
    examples: [
      ["Pull LiteLLM's price list", "meter pricing pull --source litellm"],
      ["Pull from the configured source", "meter pricing pull"],
    ],
  });

  source = Option.String("--source", { description: sourceOption });

  protected override async perform(): Promise<void> {
    const { pullRates } = await import("./pull-rates.ts");
    return await pullRates(this.commandContext, this);
  }
}

export class PricingRefreshCommand extends PricingPullCommand {
  static override paths = [["pricing", "refresh"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Pull the published rates now; the same as meter pricing pull",
    examples: [["Pull from the configured source", "meter pricing refresh"]],
  });
}

export class PricingDiffCommand extends MeterCommand {
  static override paths = [["pricing", "diff"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Show what a pull would change, without storing it",
    examples: [
      ["Compare with models.dev", "meter pricing diff --source models.dev"],
      ["Show all changes", "meter pricing diff --source litellm --all"],
    ],
  });

  source = Option.String("--source", { description: sourceOption });
  all = Option.Boolean("--all", false, { description: "List all changes instead of the first 20" });

  protected override async perform(): Promise<void> {
    const { diffRates } = await import("./pull-rates.ts");
    return await diffRates(this.commandContext, this);
  }
}

export class PricingImportCommand extends MeterCommand {
  static override paths = [["pricing", "import"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Import a price list from a file or an https URL",
    details: "The rates pass the same checks as those of a pull, and apply from today.",
    examples: [
      ["Import a copy of LiteLLM's list", "meter pricing import prices.json --format litellm"],
      ["Import from a URL", "meter pricing import https://models.dev/api.json --format models.dev"],
    ],
  });

  format = Option.String("--format", {
    required: true,
    description: "litellm, models.dev, genai-prices, openrouter or meter",
  });
  from = Option.String({ name: "file or URL" });

  protected override async perform(): Promise<void> {
    const { importRates } = await import("./import-rates.ts");
    return await importRates(this.commandContext, this);
  }
}

export class PricingAutoPullCommand extends MeterCommand {
  static override paths = [["pricing", "auto-pull"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Turn regular pulls of the published rates on or off",
    examples: [
      [
        "Pull at the interval of [pricing] pull_interval, by default every six hours",
        "meter pricing auto-pull on",
      ],
      ["Pull LiteLLM's price list regularly", "meter pricing auto-pull on --source litellm"],
      ["Stop pulling", "meter pricing auto-pull off"],
    ],
  });

  source = Option.String("--source", {
    description:
      "litellm, models.dev, genai-prices, openrouter or cloud; turns pulls on and saves the source",
  });
  value = Option.String({ name: "on|off", required: false });

  protected override async perform(): Promise<void> {
    const { setAutoPull } = await import("./set-auto-pull.ts");
    return await setAutoPull(this.commandContext, this);
  }
}
