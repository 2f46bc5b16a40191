import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";
import { fromOption, sinceOption, toOption, utcOption } from "../../../program/report-options.ts";

export class CloudPrivacyAuditCommand extends MeterCommand {
  static override paths = [["cloud", "privacy", "audit"]];
  static override usage = Command.Usage({
    category: "Privacy",
    description: "List which fields have left this machine, by time and project",
    details: `
      Reads the local log of what was sent. The log is limited in size; its oldest entries are deleted first. Exits with
      1 if the log was changed after it was written.
    `,
    examples: [
      ["List everything in the log", "meter cloud privacy audit"],
      ["List one project in the last week", "meter cloud privacy audit --project web --since 7d"],
    ],
  });

  project = Option.String("--project", {
    description: "Only batches and bodies with requests of this project",
  });
  since = sinceOption();
  from = fromOption();
  to = toOption();
  utc = utcOption();
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { auditPrivacy } = await import("./audit-privacy.ts");
    return await auditPrivacy(this.commandContext, this);
  }
}
