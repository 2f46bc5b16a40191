import { Command, Option } from "clipanion";
import { MeterCommand } from "../meter-command.ts";

export class WipeCommand extends MeterCommand {
  static override paths = [["wipe"]];
  static override usage = Command.Usage({
    category: "Your data",
    description: "delete everything that was captured",
    details: `
      All requests, captured bodies, coverage, the copies of what was sent to a cloud, and damaged databases that were
      set aside. Settings, prices, the certificate authority and a cloud connection stay; what a cloud has already stays
      there. Asks first.
    `,
    examples: [
      ["What would go", "meter wipe --dry-run"],
      ["Delete it", "meter wipe"],
    ],
  });

  dryRun = Option.Boolean("--dry-run", false, { description: "delete nothing" });
  yes = Option.Boolean("--yes", false, { description: "don't ask" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { askAndDelete } = await import("../ask-and-delete.ts");
    const { dryRun, yes, json } = this;
    await askAndDelete(this.context, { before: null, dryRun, yes, json }, (text) => this.print(text));
  }
}
