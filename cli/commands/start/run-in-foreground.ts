import type { CommandContext } from "../../program/command-context.ts";
import { restartWithMemoryLimits } from "./restart-with-memory-limits.ts";

/** Runs the daemon in this process until it is stopped. `orRelay`: while it can't start, a relay without metering. */
export async function runInForeground(
  context: CommandContext,
  home: string,
  orRelay: boolean,
): Promise<number> {
  restartWithMemoryLimits();
  // The proxy loads its modules while this thread loads the rest.
  const { startRelay } = await import("./start-relay.ts");
  const relay = startRelay(context.env);
  const run = orRelay
    ? (await import("./run-or-relay.ts")).runOrRelay
    : (await import("./run-daemon.ts")).runDaemon;
  return run(home, context.env, context.stderr, relay);
}
