import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import { exitCodes } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

export class StartCommand extends MeterCommand {
  static override paths = [["start"]];
  static override usage = Command.Usage({
    category: "Daemon",
    description: "start metering in the background",
    details: `
      Starts the daemon: the proxy that clients are pointed at, and the store that their calls are written to.
      It goes on until \`meter stop\`. Where it listens is in \`config.toml\`; see \`meter status\`.
    `,
    examples: [
      ["Start in the background", "meter start"],
      ["Stay in the foreground, as a service manager wants it", "meter start --foreground"],
    ],
  });

  foreground = Option.Boolean("--foreground", false, {
    description: "stay in this process until it is stopped",
  });

  home = Option.String("--home", {
    description: "the meter's home, where a variable can't name it",
    hidden: true,
  });

  protected override async perform(): Promise<number | undefined> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const home = this.home === undefined ? meterHome(this.context.env) : resolve(this.home);
    if (this.foreground) {
      const { runDaemon } = await import("../run-daemon.ts");
      return runDaemon(home, this.context.env, this.context.stderr);
    }
    const { findDaemon } = await import("../daemon-process.ts");
    const { startDaemonOf } = await import("../start-daemon.ts");
    const running = await findDaemon(home);
    if (running !== null) {
      this.print(
        `The daemon is running already: process ${running.pid}, proxy on port ${running.proxy_port}.`,
      );
      return undefined;
    }
    const { daemon, byService } = await startDaemonOf(home, this.context.env);
    const verdict = daemon.isDegraded ? "Started, but DEGRADED: meter status says why." : "Metering.";
    const { httpAddress } = await import("../own-address.ts");
    this.print(`${verdict} Proxy: ${httpAddress(daemon.proxy_host, daemon.proxy_port)}  Home: ${home}`);
    if (byService) this.print("The service keeps it running; meter stop stops both.");
    this.print("Run a program through it with: meter run -- <command>");
    return daemon.isDegraded ? exitCodes.failed : undefined;
  }
}
