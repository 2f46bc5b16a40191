import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class OpenCommand extends MeterCommand {
  static override paths = [["open"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Open the local page in your browser",
    details: `
      The page shows cost, projects, models and the latest requests, live. It is served on this machine and can be
      opened only from this machine. If no browser can be opened, the command prints the address.
    `,
    examples: [
      ["Open the page", "meter open"],
      ["Print only its address", "meter open --print"],
    ],
  });

  printOnly = Option.Boolean("--print", false, {
    description: "Print the address without opening a browser",
  });

  protected override async perform(): Promise<void> {
    const { openPage } = await import("./open-page.ts");
    return await openPage(this.commandContext, this);
  }
}
