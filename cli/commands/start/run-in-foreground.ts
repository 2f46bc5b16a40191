import { compileCacheEnvironment } from "../../../adapters/threads/thread-compile-cache.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { restartWithMemoryLimits } from "./restart-with-memory-limits.ts";

/** Runs the daemon in this process until it is stopped. */
export async function runInForeground(context: CommandContext, home: string): Promise<number> {
  restartWithMemoryLimits();
  // The proxy's thread loads its modules while this one loads the rest.
  const { startProxyThread } = await import("../../../daemon/proxy/proxy-thread.ts");
  const proxyThread = startProxyThread({ readSystemRoots: true }, compileCacheEnvironment());
  const { runDaemon } = await import("./run-daemon.ts");
  return runDaemon(home, context.env, context.stderr, proxyThread);
}
