import { Command, Option, UsageError } from "clipanion";
import { ConnectedCommand } from "../connected-command.ts";
import { CommandFailure } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

export class PricingListCommand extends MeterCommand {
  static override paths = [["pricing", "list"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "the rates in force",
    details:
      "USD per million tokens. Where several sources know a model, the one that applies today is shown.",
    examples: [
      ["All", "meter pricing list"],
      ["One provider's models whose name holds a word", "meter pricing list --provider anthropic sonnet"],
    ],
  });

  provider = Option.String("--provider", { description: "only this provider" });
  json = Option.Boolean("--json", false, {
    description: "for programs: rates in micro-USD per million tokens",
  });
  word = Option.String({ name: "word", required: false });

  protected override async perform(): Promise<void> {
    const { currentRates } = await import("../current-rates.ts");
    const all = await currentRates(this.context.env);
    const rows = all.filter(
      (row) =>
        (this.provider === undefined || row.provider === this.provider) &&
        (this.word === undefined || row.model.includes(this.word.toLowerCase())),
    );
    if (this.json) {
      return this.printJson(
        rows.map(({ provider, model, source, provenanceDate, effectiveFrom, rates }) => ({
          ...{ provider, model, source, provenance_date: provenanceDate, effective_from: effectiveFrom },
          ...{
            input: rates.input,
            output: rates.output,
            cache_read: rates.cacheRead,
            cache_write: rates.cacheWrite,
          },
          cache_write_1h: rates.cacheWrite1h,
          tiers: rates.tiers.map((tier) => ({
            ...{ above_tokens: tier.aboveTokens, input: tier.input, output: tier.output },
            ...{
              cache_read: tier.cacheRead,
              cache_write: tier.cacheWrite,
              cache_write_1h: tier.cacheWrite1h,
            },
          })),
        })),
      );
    }
    if (rows.length === 0) return this.print("No such rates.");
    const { renderRates } = await import("../render/rates.ts");
    return this.print(renderRates(rows, this.width));
  }
}

export class PricingStatusCommand extends MeterCommand {
  static override paths = [["pricing", "status"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "where the rates are from and how old they are",
    examples: [["Age and number of rates by source", "meter pricing status"]],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { BUNDLED_RATES_DATE, BUNDLED_RATES_SOURCE } = await import("../../core/pricing/mod.ts");
    const { currentRates } = await import("../current-rates.ts");
    const { readConfig } = await import("../read-config.ts");
    const { readPullState } = await import("../pull-state.ts");
    const rows = await currentRates(this.context.env);
    const inForce = { bundled: 0, auto: 0, operator: 0 };
    for (const row of rows) inForce[row.source] += 1;
    const ageDays = Math.floor((Date.now() - Date.parse(BUNDLED_RATES_DATE)) / 86_400_000);
    const home = meterHome(this.context.env);
    const { pricing } = (await readConfig(home, this.context.env)).config;
    const pull = await readPullState(home, pricing);
    if (this.json) {
      return this.printJson({
        ...{
          bundled_date: BUNDLED_RATES_DATE,
          bundled_source: BUNDLED_RATES_SOURCE,
          bundled_age_days: ageDays,
        },
        in_force: inForce,
        pull,
      });
    }
    const minute = (iso: string | null) =>
      iso === null ? "never" : `${iso.slice(0, 16).replace("T", " ")} UTC`;
    const { printable } = await import("../render/printable.ts");
    const from = pull.pull_url ?? "the cloud, where this machine is connected";
    return this.print(
      [
        `bundled   ${inForce.bundled} models, of ${BUNDLED_RATES_DATE} (${ageDays} days old), from ${BUNDLED_RATES_SOURCE}`,
        `pulled    ${inForce.auto} models, last from ${from}: ${minute(pull.last_pull_at)}`,
        ...(pull.last_error === null
          ? []
          : [`failed    ${minute(pull.last_failed_at)}: ${printable(pull.last_error)}; nothing changed`]),
        `operator  ${inForce.operator} models, from config.toml`,
        pull.auto_pull
          ? `auto-pull on, every ${pull.interval_seconds / 3600} h; the next is due ${pull.next_pull_at === null ? "at once" : minute(pull.next_pull_at)}`
          : "auto-pull off: meter pricing refresh pulls once, meter pricing auto-pull on regularly",
      ].join("\n"),
    );
  }
}

export class PricingRefreshCommand extends ConnectedCommand {
  static override paths = [["pricing", "refresh"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "pull the published rates, now",
    details: `
      From \`[pricing] pull_url\` where it is set, else from the cloud. All of a pull is taken or none of it: one rate
      that moves more than tenfold rejects it. What is stored keeps its cost; see \`meter recompute-costs\`.
    `,
    examples: [["Once", "meter pricing refresh"]],
  });

  protected override async perform(): Promise<void> {
    const { printable } = await import("../render/printable.ts");
    await this.withCloud(async (cloud) => {
      const result = await cloud.refreshRates();
      switch (result.kind) {
        case "updated":
          return this.print(`${result.rates} rates, published on ${printable(result.publishedAt)}.`);
        case "not_modified":
          return this.print("The rates are as they were.");
        case "not_configured":
          throw new CommandFailure("nowhere to pull from: set [pricing] pull_url, or meter cloud connect");
        case "not_https":
          throw new CommandFailure("rates are pulled over https alone, and the cloud's address is none");
        case "invalid":
          throw new CommandFailure(
            `the pull was rejected and nothing changed:\n${result.problems
              .slice(0, 10)
              .map(({ provider, model, field, problem }) =>
                printable(`  ${provider} ${model}, ${field}: ${problem}`),
              )
              .join("\n")}`,
          );
        case "failed":
          throw new CommandFailure(`the rates could not be pulled: ${result.error}`);
      }
    });
  }
}

export class PricingAutoPullCommand extends MeterCommand {
  static override paths = [["pricing", "auto-pull"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "pull published rates regularly, or not",
    examples: [
      ["Every six hours, or as [pricing] pull_interval says", "meter pricing auto-pull on"],
      ["Not any more", "meter pricing auto-pull off"],
    ],
  });

  value = Option.String({ name: "on|off" });

  protected override async perform(): Promise<void> {
    if (this.value !== "on" && this.value !== "off") throw new UsageError(`write on or off: ${this.value}`);
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { reloadDaemon } = await import("../cloud-control.ts");
    const { editConfig } = await import("../edit-config.ts");
    const home = meterHome(this.context.env);
    await editConfig(home, [{ path: ["pricing", "auto_pull"], value: this.value === "on" }]);
    await reloadDaemon(home);
    this.print(`Automatic pull of rates is ${this.value}.`);
  }
}
