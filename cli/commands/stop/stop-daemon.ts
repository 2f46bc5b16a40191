import { findDaemon, findHolder, type Holder } from "../../daemon/daemon-process.ts";
import { stopDaemonOf } from "../../daemon/start-daemon.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";

/** How long another `meter stop` may take, in milliseconds. */
const OTHER_STOP_MS = 30_000;
const POLL_MS = 100;
/** How long this waits before it says so, in milliseconds. */
const SILENT_MS = 1_000;

/**
 * Returns the daemon that holds the home but does not answer; null if there is none. A daemon without `daemon.json` is being stopped by
 * another command, or hangs, so this waits until it has ended, and says so.
 */
async function waitForHolder({ home, notice }: CommandContext): Promise<Holder | null> {
  const started = performance.now();
  let isAnnounced = false;
  for (;;) {
    const holder = await findHolder(home);
    const waitedMs = performance.now() - started;
    if (holder === null || holder.isAnnounced || waitedMs > OTHER_STOP_MS) return holder;
    if (waitedMs >= SILENT_MS && !isAnnounced) {
      isAnnounced = true;
      const daemon = holder.pid === null ? "the daemon" : `the daemon (process ${holder.pid})`;
      notice(`Waiting up to ${OTHER_STOP_MS / 1000} s for ${daemon} to end.`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Stops the daemon. */
export async function stopDaemon(context: CommandContext): Promise<void> {
  const { home } = context;
  const running = await findDaemon(home);
  const { supervised, apps } = await stopDaemonOf(home, running, context.env);
  const before = running === null ? await findHolder(home) : null;
  const holder = before === null ? null : await waitForHolder(context);
  // It was starting, after a crash or by another command, and answers now.
  if (holder !== null && !before?.isAnnounced && (await findDaemon(home)) !== null)
    return stopDaemon(context);
  if (holder !== null) {
    throw new CommandFailure(
      holder.pid === null
        ? `A daemon is using ${home} but does not answer. Find its process, and end it: ps -ef`
        : `The daemon (process ${holder.pid}) is using this home but does not answer.\nEnd it: kill -9 ${holder.pid}`,
    );
  }
  context.print(
    running === null && before === null && !supervised ? "The daemon is not running." : "Stopped.",
  );
  if (apps) {
    context.print(
      "Open shells stop using the proxy at their next prompt. Programs that are already running, and desktop programs, still use it and can't reach their providers. Start it again: meter start",
    );
  }
}
