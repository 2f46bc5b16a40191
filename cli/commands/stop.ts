import process from "node:process";
import { Command } from "clipanion";
import { CommandFailure } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

/** The daemon lets streams finish for 10 s; after this long, in milliseconds, something is wrong. */
const STOPPED_WITHIN_MS = 15_000;
const POLL_MS = 50;

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
    const { findDaemon, isAlive } = await import("../daemon-process.ts");
    const running = await findDaemon(meterHome(this.context.env));
    if (running === null) {
      this.print("The daemon is not running.");
      return;
    }
    process.kill(running.pid, "SIGTERM");
    const deadline = performance.now() + STOPPED_WITHIN_MS;
    while (isAlive(running.pid)) {
      if (performance.now() > deadline) {
        throw new CommandFailure(`process ${running.pid} did not stop within ${STOPPED_WITHIN_MS / 1000} s`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    this.print("Stopped.");
  }
}
