import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudLedgerCommand extends MeterCommand {
  static override paths = [["cloud", "ledger"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Check that the cloud has not rewritten its ledgers",
    details: `
      The cloud keeps ledgers of prompt views, audit events and costs. Each row has the hash of the row before it. This machine
      saves the last hash of each ledger and compares it every hour: a ledger may only grow. Exits with 1 if a ledger was
      shortened or rewritten.

      A cloud that was restored from a backup lacks the rows after it. This machine compares the last hashes that it saved
      before the backup. If it has none that old, it compares the oldest ones, and a difference can be due to the restore.
      Ask the people who run the cloud; if they restored that backup, \`--accept\` saves the current hashes.
    `,
    examples: [
      ["Check now", "meter cloud ledger"],
      ["Save the hashes for `meter-cloud ledger verify --head`", "meter cloud ledger --json > heads.json"],
    ],
  });

  accept = Option.Boolean("--accept", false, {
    description: "Replace the saved hashes with the current ones",
  });
  json = Option.Boolean("--json", false, { description: "Print the saved hashes as JSON" });

  protected override async perform(): Promise<number> {
    const { checkLedgers } = await import("./check-ledgers.ts");
    return await checkLedgers(this.commandContext, this);
  }
}
