import { Command, Option } from "clipanion";
import { CommandFailure } from "../../exit-codes.ts";
import { unreadable } from "../../render/unreadable.ts";
import { CloudCommand } from "../cloud-command.ts";

/** A table of all models is a few hundred KiB. */
const MAX_RATES_BYTES = 16 * 1024 * 1024;

export class RatesSeedCommand extends CloudCommand {
  static override paths = [["rates", "seed"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "store the rates that come with this version",
    details: "`serve` and `migrate` do this by themselves. Rates that are there stay as they are.",
    examples: [["Store them", "meter-cloud rates seed"]],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { seedRates } = await import("../../../cloud/mod.ts");
    const { BUNDLED_RATES_DATE, loadBundledRates } = await import("../../../core/pricing/mod.ts");
    const added = await this.withDatabase(({ db }) => seedRates(db, loadBundledRates(), Date.now()));
    if (this.json) this.printJson({ added, provenance_date: BUNDLED_RATES_DATE });
    else
      this.print(added === 0 ? "The rates were there." : `Stored ${added} rates of ${BUNDLED_RATES_DATE}.`);
  }
}

export class RatesPublishCommand extends CloudCommand {
  static override paths = [["rates", "publish"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "publish rates over those that come with the program",
    details: `
      The file is JSON as \`GET /v1/pricing/rates\` answers it: published_at, unit, rates. All of it is published or
      nothing: a rate above the ceiling, or one that moves more than ten times, is refused here as every daemon would
      refuse it. One publication a day. Requests that are priced already keep their price; servers see the new rates
      within a minute.
    `,
    examples: [
      ["What would be refused", "meter-cloud rates publish rates.json --dry-run"],
      ["Publish", "meter-cloud rates publish rates.json"],
    ],
  });

  file = Option.String({ name: "file" });
  dryRun = Option.Boolean("--dry-run", false, { description: "only judge" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { readSmallFile } = await import("../../../adapters/files/mod.ts");
    const { parseWire, publishedRatesSchema } = await import("../../../core/wire/mod.ts");
    const { publishRates } = await import("../../../cloud/mod.ts");
    const file = await readSmallFile(this.file, { maxBytes: MAX_RATES_BYTES });
    if (!file.ok) throw new CommandFailure(unreadable(this.file, file.reason));
    const parsed = parseWire(publishedRatesSchema, readJson(file.text, this.file));
    if (!parsed.ok) throw refused(parsed.problems.map(({ field, problem }) => `${field}: ${problem}`));
    const published = await this.withDatabase(({ db }) =>
      publishRates(db, parsed.value, { now: Date.now(), dryRun: this.dryRun }),
    );
    if (!published.ok) {
      throw refused(
        published.problems.map(({ provider, model, field, problem }) =>
          `${[provider, model].filter((word) => word !== "").join(" ")} ${field} ${problem}`.trim(),
        ),
      );
    }
    if (this.json) this.printJson({ published: published.rates, dry_run: this.dryRun });
    else this.print(`${this.dryRun ? "Would publish" : "Published"} ${published.rates} rates.`);
  }
}

function readJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailure(`${path} is not JSON`);
  }
}

function refused(problems: readonly string[]): CommandFailure {
  return new CommandFailure(
    `the rates were refused, all of them:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
  );
}
