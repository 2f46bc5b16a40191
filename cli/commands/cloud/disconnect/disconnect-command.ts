import { Command } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudDisconnectCommand extends MeterCommand {
  static override paths = [["cloud", "disconnect"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Revoke this machine's key and delete it",
    details: "Records in the cloud and on this machine are kept.",
    examples: [["Disconnect", "meter cloud disconnect"]],
  });

  protected override async perform(): Promise<void> {
    const { disconnectMachine } = await import("./disconnect-machine.ts");
    return await disconnectMachine(this.commandContext);
  }
}
