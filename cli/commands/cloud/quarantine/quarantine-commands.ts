import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudQuarantineListCommand extends MeterCommand {
  static override paths = [["cloud", "quarantine", "list"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "List records and bodies that the cloud refused",
    details: "They are not sent again unless you retry them. All other records are still sent.",
    examples: [["List all of them", "meter cloud quarantine list"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { listQuarantine } = await import("./list-quarantine.ts");
    return await listQuarantine(this.commandContext, this);
  }
}

export class CloudQuarantineRetryCommand extends MeterCommand {
  static override paths = [["cloud", "quarantine", "retry"]];
  static readonly restOfLine = "<id> ...";
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Send refused records again",
    details: "Takes them out of quarantine; the next sync sends them. An id may be a prefix.",
    examples: [
      ["Retry one request", "meter cloud quarantine retry 019aa8f2"],
      ["Retry everything", "meter cloud quarantine retry --all"],
    ],
  });

  all = Option.Boolean("--all", false, { description: "Retry everything in quarantine" });
  ids = Option.Rest();

  protected override async perform(): Promise<void> {
    const { retryQuarantined } = await import("./retry-quarantined.ts");
    return await retryQuarantined(this.commandContext, this);
  }
}
