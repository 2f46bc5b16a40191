import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudConnectCommand extends MeterCommand {
  static override paths = [["cloud", "connect"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Connect this machine to a workspace",
    details: `
      Shows a code and a link. A signed-in member of the workspace approves the code; from then on metadata is sent.
      \`meter cloud privacy show\` lists which fields. If the machine is already connected, the command says so; --force
      pairs it again.
    `,
    examples: [
      ["Connect for the first time", "meter cloud connect --base-url https://meter.example.com"],
      ["Connect without sending past requests", "meter cloud connect --from-now"],
    ],
  });

  baseUrl = Option.String("--base-url", { description: "The cloud's address; saved once connected" });
  force = Option.Boolean("--force", false, { description: "Pair again even if this machine is connected" });
  fromNow = Option.Boolean("--from-now", false, { description: "Don't send requests metered before now" });

  protected override async perform(): Promise<number> {
    const { connectMachine } = await import("./connect-machine.ts");
    return await connectMachine(this.commandContext, this);
  }
}
