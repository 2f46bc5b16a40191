import { findDaemon, findHolder } from "../../daemon/daemon-process.ts";
import { stopDaemonOf } from "../../daemon/start-daemon.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";

/** Stops the daemon. */
export async function stopDaemon(context: CommandContext): Promise<void> {
  const { home } = context;
  const running = await findDaemon(home);
  const { relayed, apps } = await stopDaemonOf(home, running, context.env);
  const holder = running === null ? await findHolder(home) : null;
  if (holder !== null) {
    throw new CommandFailure(
      holder.pid === null
        ? "A daemon is using this home but does not answer. Find its process and end it."
        : `The daemon (process ${holder.pid}) is using this home but does not answer.\nEnd it: kill -9 ${holder.pid}`,
    );
  }
  context.print(running === null && !relayed ? "The daemon is not running." : "Stopped.");
  if (apps) {
    context.print(
      "Open shells stop using the proxy at their next prompt. Programs that are already running, and desktop programs, still use it and can't reach their providers. Start it again: meter start",
    );
  }
}
