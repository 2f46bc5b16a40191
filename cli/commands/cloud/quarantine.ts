import { Command, Option, UsageError } from "clipanion";
import { CommandFailure, exitCodes } from "../../exit-codes.ts";
import { MeterCommand } from "../../meter-command.ts";

export class CloudQuarantineListCommand extends MeterCommand {
  static override paths = [["cloud", "quarantine", "list"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "what the cloud refused for good",
    details: "Such records and bodies are not sent again by themselves. Everything else goes on.",
    examples: [["All of it", "meter cloud quarantine list"]],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../../adapters/files/mod.ts");
    const { withStore } = await import("../../open-store.ts");
    const { renderQuarantine } = await import("../../render/cloud-quarantine.ts");
    await withStore(meterHome(this.context.env), { readOnly: true }, async (store) => {
      const entries = store.listQuarantine();
      if (!this.json) return this.print(renderQuarantine(entries, this.width));
      return this.printJson(
        entries.map((entry) => ({
          kind: entry.kind,
          request_id: entry.requestId,
          direction: entry.direction,
          reason: entry.reason,
          http_status: entry.httpStatus,
          quarantined_at: new Date(entry.quarantinedAt).toISOString(),
        })),
      );
    });
  }
}

export class CloudQuarantineRetryCommand extends MeterCommand {
  static override paths = [["cloud", "quarantine", "retry"]];
  static readonly restOfLine = "<id> ...";
  static override usage = Command.Usage({
    category: "Cloud",
    description: "let refused records be sent again",
    details: "Takes them out of the quarantine; the next sync sends them. Ids may be cut short.",
    examples: [
      ["One request", "meter cloud quarantine retry 019aa8f2"],
      ["Everything", "meter cloud quarantine retry --all"],
    ],
  });

  all = Option.Boolean("--all", false, { description: "everything that is in quarantine" });
  ids = Option.Rest();

  protected override async perform(): Promise<void> {
    if (this.all === this.ids.length > 0) throw new UsageError("give the ids of requests, or --all");
    const { meterHome } = await import("../../../adapters/files/mod.ts");
    const { withStore } = await import("../../open-store.ts");
    await withStore(meterHome(this.context.env), { readOnly: false }, async (store) => {
      const entries = store.listQuarantine();
      for (const id of this.ids) {
        const found = new Set(entries.map((each) => each.requestId).filter((each) => each.startsWith(id)));
        if (found.size !== 1 || id === "") {
          const problem = found.size === 0 ? "is not in quarantine" : "may be several; write more of it";
          throw new CommandFailure(`${id === "" ? "an empty id" : id} ${problem}`, exitCodes.notFound);
        }
      }
      const chosen = this.all
        ? entries
        : entries.filter((entry) => this.ids.some((id) => entry.requestId.startsWith(id)));
      let released = 0;
      for (const kind of ["metadata", "body"] as const) {
        const ids = new Set(chosen.filter((entry) => entry.kind === kind).map((entry) => entry.requestId));
        released += store.releaseQuarantine(kind, [...ids]);
      }
      this.print(
        released === 0
          ? "Nothing is in quarantine."
          : `${released} ${released === 1 ? "is" : "are"} pending again, and sent with the next sync.`,
      );
    });
  }
}
