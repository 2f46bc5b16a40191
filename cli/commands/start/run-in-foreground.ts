import type { CommandContext } from "../../program/command-context.ts";
import { restartWithMemoryLimits } from "./restart-with-memory-limits.ts";

/** Runs the daemon in this process until it is stopped. */
export async function runInForeground(context: CommandContext, home: string): Promise<number> {
  restartWithMemoryLimits();
  // The proxy loads its modules while this thread loads the rest.
  const { startRelay } = await import("./start-relay.ts");
  const relay = startRelay(context.env);
  const { runDaemon } = await import("./run-daemon.ts");
  return runDaemon(home, context.env, context.stderr, relay);
}
