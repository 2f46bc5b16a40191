import { readFileSync } from "node:fs";
import { Command, Option } from "clipanion";
import { CommandFailure } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

/** How long a daemon may take until it answers, in milliseconds. */
const READY_WITHIN_MS = 15_000;
const POLL_MS = 50;

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

  protected override async perform(): Promise<number | undefined> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const home = meterHome(this.context.env);
    if (this.foreground) {
      const { runDaemon } = await import("../run-daemon.ts");
      return runDaemon(home, this.context.env, this.context.stderr);
    }
    const { bootLogFile, findDaemon, spawnDaemon } = await import("../daemon-process.ts");
    const { prepareHome } = await import("../home.ts");
    const running = await findDaemon(home);
    if (running !== null) {
      this.print(
        `The daemon is running already: process ${running.pid}, proxy on port ${running.proxy_port}.`,
      );
      return undefined;
    }
    prepareHome(home);
    const child = spawnDaemon(home);
    let exitCode: number | null = null;
    child.exited.then((code) => {
      exitCode = code;
    });
    const deadline = performance.now() + READY_WITHIN_MS;
    while (performance.now() < deadline) {
      const started = await findDaemon(home);
      if (started !== null) {
        this.print(`Metering. Proxy: http://127.0.0.1:${started.proxy_port}  Home: ${home}`);
        this.print("Run a program through it with: meter run -- <command>");
        return undefined;
      }
      if (exitCode !== null) {
        throw new CommandFailure(
          `the daemon did not start:\n${readFileSync(bootLogFile(home), "utf8").trim()}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new CommandFailure(
      `the daemon did not answer within ${READY_WITHIN_MS / 1000} s; see ${bootLogFile(home)}`,
    );
  }
}
