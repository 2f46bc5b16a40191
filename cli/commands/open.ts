import { Command, Option } from "clipanion";
import { CommandFailure, exitCodes } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

export class OpenCommand extends MeterCommand {
  static override paths = [["open"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "the local page in your browser",
    details: `
      Shows cost, projects, models and the latest requests as they come in. The page is on this machine and for this
      machine alone. Where no browser can be opened, the address is printed instead.
    `,
    examples: [
      ["Open the page", "meter open"],
      ["Only its address", "meter open --print"],
    ],
  });

  printOnly = Option.Boolean("--print", false, { description: "print the address and open nothing" });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { findDaemon } = await import("../daemon-process.ts");
    const { httpAddress } = await import("../own-address.ts");
    const { openAddress } = await import("../open-address.ts");
    const running = await findDaemon(meterHome(this.context.env));
    if (running === null) {
      throw new CommandFailure("the daemon is not running: start it with meter start", exitCodes.notRunning);
    }
    const address = `${httpAddress(running.api_host, running.api_port)}/`;
    const opened = !this.printOnly && (await openAddress(address, this.context.env));
    this.print(opened ? `Opened ${address}` : address);
  }
}
