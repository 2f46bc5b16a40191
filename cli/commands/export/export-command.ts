import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";
import {
  fromOption,
  modelOption,
  projectOption,
  providerOption,
  sinceOption,
  toOption,
  utcOption,
} from "../../program/report-options.ts";
import { FORMAT_NAMES } from "./formats.ts";

export class ExportCommand extends MeterCommand {
  static override paths = [["export"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Export requests for other tools",
    details: `
      Writes every request with all fields, in order of arrival: as lines of JSON (jsonl), as CSV or as Parquet. The format
      focus is CSV by the FinOps specification FOCUS 1.2, with one row per day (UTC), project, provider, model and billing
      mode; see docs/export.md. No prompts or completions are exported. A file is complete once the command has ended.
    `,
    examples: [
      ["Export everything as lines of JSON", "meter export > requests.jsonl"],
      [
        "Export the last 30 days as Parquet",
        "meter export --format parquet --since 30d --output requests.parquet",
      ],
      [
        "Export the last 90 days for a FinOps tool",
        "meter export --format focus --since 90d --output focus.csv",
      ],
    ],
  });

  format = Option.String("--format", "jsonl", { description: `One of ${FORMAT_NAMES.join(", ")}` });
  output = Option.String("--output,-o", {
    description: "The file to write; otherwise, or with -, standard output",
  });
  since = sinceOption();
  from = fromOption();
  to = toOption();
  project = projectOption();
  model = modelOption();
  provider = providerOption();
  utc = utcOption();

  protected override async perform(): Promise<void> {
    const { exportRequests } = await import("./export-requests.ts");
    return await exportRequests(this.commandContext, this);
  }
}
