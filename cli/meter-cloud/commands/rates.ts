import { Command, Option } from "clipanion";
import { CommandFailure } from "../../program/exit-codes.ts";
import { describeUnreadable } from "../../render/unreadable.ts";
import { CloudCommand } from "../cloud-command.ts";

/** A table of all models takes a few hundred KiB. */
const MAX_RATES_BYTES = 16 * 1024 * 1024;

export class RatesSeedCommand extends CloudCommand {
  static override paths = [["rates", "seed"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Store the rates bundled with this version",
    details: "`serve` and `migrate` do this too. Existing rates are not changed.",
    examples: [["Store the bundled rates", "meter-cloud rates seed"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { BUNDLED_RATES_DATE } = await import("../../../core/pricing/bundled-rates.data.ts");
    const added = await this.administer("seed_rates", {});
    if (this.json) this.commandContext.printJson({ added, provenance_date: BUNDLED_RATES_DATE });
    else
      this.commandContext.print(
        added === 0
          ? "The bundled rates are already stored."
          : `Stored ${added} rates dated ${BUNDLED_RATES_DATE}.`,
      );
  }
}

export class RatesPublishCommand extends CloudCommand {
  static override paths = [["rates", "publish"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Publish rates that replace the bundled ones",
    details: `
      The file is JSON in the format of \`GET /v1/pricing/rates\`: published_at, unit, rates. It is published as a whole
      or not at all: a rate above the ceiling, or one that changes more than tenfold, is refused here as every daemon
      would refuse it. Rates can be published once a day. Requests that are already priced keep their cost. Servers use
      the new rates within a minute.
    `,
    examples: [
      ["Check a file without publishing it", "meter-cloud rates publish rates.json --dry-run"],
      ["Publish a file", "meter-cloud rates publish rates.json"],
    ],
  });

  file = Option.String({ name: "file" });
  dryRun = Option.Boolean("--dry-run", false, { description: "Check the rates without publishing them" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { readSmallFile } = await import("../../../adapters/files/read-small-file.ts");
    const { parseWire } = await import("../../../core/wire/parse.ts");
    const { publishedRatesSchema } = await import("../../../core/wire/pricing-rates.ts");
    const file = await readSmallFile(this.file, { maxBytes: MAX_RATES_BYTES });
    if (!file.ok) throw new CommandFailure(describeUnreadable(this.file, file.reason));
    const parsed = parseWire(publishedRatesSchema, readJson(file.text, this.file));
    if (!parsed.ok) throw refused(parsed.problems.map(({ field, problem }) => `${field}: ${problem}`));
    const published = await this.administer("publish_rates", { pull: parsed.value, dryRun: this.dryRun });
    if (!published.ok) {
      throw refused(
        published.problems.map(({ provider, model, field, problem }) =>
          `${[provider, model].filter((word) => word !== "").join(" ")} ${field} ${problem}`.trim(),
        ),
      );
    }
    if (this.json) this.commandContext.printJson({ published: published.rates, dry_run: this.dryRun });
    else
      this.commandContext.print(`${this.dryRun ? "Would publish" : "Published"} ${published.rates} rates.`);
  }
}

function readJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailure(`${path} is not valid JSON.`);
  }
}

function refused(problems: readonly string[]): CommandFailure {
  return new CommandFailure(
    `The rates are invalid; nothing was published:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
  );
}
