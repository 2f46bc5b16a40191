import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { findListenersOnLinux, type Listener } from "../../../adapters/process-table/find-listener.ts";
import { readLink, readStat } from "../../../adapters/process-table/linux-process.ts";
import { watchProcess } from "../../../adapters/threads/process-watch.ts";
import type { ProxyThreadData } from "../../../daemon/proxy/proxy-thread.ts";

const WORKER_FILE = /[/\\]proxy-worker\.[jt]s$/;

/** How long a killed process may take to end, in milliseconds. */
const ENDS_WITHIN_MS = 5_000;
const PAUSE_MS = 10;

/** Whether a process is the relay of a daemon that has ended. Such a relay ends by itself, unless it hangs. */
function isOrphanedRelay({ pid, commandLine }: Listener, proc: string): boolean {
  const at = commandLine.findIndex((word) => WORKER_FILE.test(word));
  if (at === -1) return false;
  const stat = readStat(proc, pid);
  // In a container with the network of its host, a daemon has another id than here.
  if (stat === null || readLink(`${proc}/${pid}/ns/pid`) !== readLink(`${proc}/self/ns/pid`)) return false;
  try {
    const { memory } = JSON.parse(commandLine[at + 1] ?? "") as ProxyThreadData;
    // The system gives an orphan another parent, even if a new process has the daemon's id.
    return memory !== undefined && stat.parent !== memory.daemonPid;
  } catch {
    return false;
  }
}

/** Kills a process of this user. It may have ended meanwhile. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause;
  }
}

/**
 * Ends the relay of a daemon that was killed, if it hangs and so still has a socket of the proxy's port: its calls would wait forever,
 * and it may keep the port. Returns whether there was one. Linux, where a relay is a process.
 */
export async function endOrphanedRelay(port: number, proc = "/proc"): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const orphans = findListenersOnLinux(port, proc).filter((listener) => isOrphanedRelay(listener, proc));
  for (const { pid } of orphans) kill(pid);
  const deadline = performance.now() + ENDS_WITHIN_MS;
  for (const { pid } of orphans) {
    const isAlive = watchProcess(pid);
    while (isAlive() && performance.now() < deadline) await delay(PAUSE_MS);
  }
  return orphans.length > 0;
}
