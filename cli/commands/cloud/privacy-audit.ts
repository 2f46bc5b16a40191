import { Command, Option } from "clipanion";
import { exitCodes } from "../../exit-codes.ts";
import { MeterCommand } from "../../meter-command.ts";

export class CloudPrivacyAuditCommand extends MeterCommand {
  static override paths = [["cloud", "privacy", "audit"]];
  static override usage = Command.Usage({
    category: "Privacy",
    description: "which fields have left this machine, when, and of which projects",
    details: `
      Reads the log of what was sent, which is bounded in size: the oldest entries go first. Ends with 1 where the log was
      changed after it was written.
    `,
    examples: [
      ["Everything that is kept", "meter cloud privacy audit"],
      ["One project in the last week", "meter cloud privacy audit --project web --since 7d"],
    ],
  });

  project = Option.String("--project", { description: "only what held requests of this project" });
  since = Option.String("--since", {
    description: "a length of time (24h, 7d), today, yesterday, or a date",
  });
  from = Option.String("--from", { description: "the first day, or an instant (ISO 8601)" });
  to = Option.String("--to", { description: "the last day, or the instant before which it ends" });
  utc = Option.Boolean("--utc", false, { description: "days in UTC" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<number> {
    const { meterHome } = await import("../../../adapters/files/mod.ts");
    const { createOutbox } = await import("../../../adapters/outbox/mod.ts");
    const { readPeriod } = await import("../../period.ts");
    const { summariseOutbox } = await import("../../summarise-outbox.ts");
    const { renderOutbox } = await import("../../render/cloud-privacy-audit.ts");
    const outbox = createOutbox(meterHome(this.context.env));
    const period = readPeriod(this, Date.now(), this.utc);
    const verdict = await outbox.verify();
    const summary = await summariseOutbox(outbox.read(), { ...period, project: this.project });
    if (this.json) {
      const log = verdict.ok
        ? {
            intact: true,
            entries: verdict.entries,
            first_seq: verdict.firstSeq,
            last_seq: verdict.lastSeq,
          }
        : { intact: false, file: verdict.file, line: verdict.line, problem: verdict.problem };
      this.printJson({ ...summary, log });
    } else this.print(renderOutbox(summary, verdict, this.width));
    return verdict.ok ? exitCodes.ok : exitCodes.failed;
  }
}
