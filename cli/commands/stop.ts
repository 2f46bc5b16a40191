import { Command } from "clipanion";
import { CommandFailure } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

export class StopCommand extends MeterCommand {
  static override paths = [["stop"]];
  static override usage = Command.Usage({
    category: "Daemon",
    description: "stop the daemon",
    details: "Calls in flight may finish for up to ten seconds. What was metered until then is kept.",
    examples: [["Stop metering", "meter stop"]],
  });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { findDaemon, findHolder } = await import("../daemon-process.ts");
    const { stopDaemonOf } = await import("../start-daemon.ts");
    const home = meterHome(this.context.env);
    const running = await findDaemon(home);
    const { apps } = await stopDaemonOf(home, running, this.context.env);
    const holder = running === null ? await findHolder(home) : null;
    if (holder !== null) {
      const which = holder.pid === null ? "a daemon" : `the daemon (process ${holder.pid})`;
      throw new CommandFailure(`${which} holds this home, but it does not answer; end its process yourself`);
    }
    this.print(running === null ? "The daemon is not running." : "Stopped.");
    if (apps) {
      this.print(
        "Programs that init --apps led to the meter can't reach their providers until meter start or meter uninstall.",
      );
    }
  }
}
