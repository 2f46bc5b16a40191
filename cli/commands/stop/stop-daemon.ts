import { findDaemon } from "../../daemon/daemon-process.ts";
import { stopDaemonOf } from "../../daemon/start-daemon.ts";
import type { CommandContext } from "../../program/command-context.ts";

/** Stops the daemon. */
export async function stopDaemon({ home, env, notice, print }: CommandContext): Promise<void> {
  const { ended, apps } = await stopDaemonOf(home, await findDaemon(home), env, notice);
  print(ended ? "Stopped." : "The daemon is not running.");
  if (apps) {
    print(
      "Open shells stop using the proxy at their next prompt. Programs that are already running, and desktop programs, still use it and can't reach their providers. Start it again: meter start",
    );
  }
}
