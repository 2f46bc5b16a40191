import { Command, Option } from "clipanion";
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
    const { formatRateText } = await import("../../core/pricing/mod.ts");
    const { renderTable } = await import("../render/table.ts");
    const usd = (rate: number | null) => (rate === null ? "–" : formatRateText(rate));
    const right = "right" as const;
    const lines = rows.flatMap(({ provider, model, source, rates }) => [
      [provider, model, ...[rates.input, rates.output, rates.cacheRead, rates.cacheWrite].map(usd), source],
      ...rates.tiers.map((tier) => [
        "",
        `  above ${tier.aboveTokens} input tokens`,
        ...[tier.input, tier.output, tier.cacheRead, tier.cacheWrite].map(usd),
        "",
      ]),
    ]);
    return this.print(
      renderTable(
        [
          { title: "provider", shrink: true },
          { title: "model", shrink: true },
          { title: "input", align: right },
          { title: "output", align: right },
          { title: "cache read", align: right },
          { title: "cache write", align: right },
          { title: "source" },
        ],
        lines,
        this.width,
      ),
    );
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
    const { currentRates } = await import("../current-rates.ts");
    const { BUNDLED_RATES_DATE, BUNDLED_RATES_SOURCE } = await import("../../core/pricing/mod.ts");
    const rows = await currentRates(this.context.env);
    const inForce = { bundled: 0, auto: 0, operator: 0 };
    for (const row of rows) inForce[row.source] += 1;
    const ageDays = Math.floor((Date.now() - Date.parse(BUNDLED_RATES_DATE)) / 86_400_000);
    if (this.json) {
      return this.printJson({
        ...{
          bundled_date: BUNDLED_RATES_DATE,
          bundled_source: BUNDLED_RATES_SOURCE,
          bundled_age_days: ageDays,
        },
        in_force: inForce,
      });
    }
    return this.print(
      [
        `bundled   ${inForce.bundled} models, of ${BUNDLED_RATES_DATE} (${ageDays} days old), from ${BUNDLED_RATES_SOURCE}`,
        `pulled    ${inForce.auto} models`,
        `operator  ${inForce.operator} models, from config.toml`,
      ].join("\n"),
    );
  }
}
