import process from "node:process";
import {
  findHolders,
  outputOf,
  programOf,
  readCommandLine,
  readKernelTables,
  readLsofName,
  readNetstat,
  readTasks,
  SOCKET_STATE,
} from "./established-connections.ts";
import { type RunCommand, runCommand } from "./run-command.ts";

/** A process that listens on a port of this machine. */
export interface Listener {
  readonly pid: number;
  /** Null if the platform does not state it. */
  readonly program: string | null;
  /** On Linux; empty elsewhere. */
  readonly commandLine: readonly string[];
}

/** Finds the processes that hold a socket that listens on a port (Linux). Several do if it was inherited. */
export function findListenersOnLinux(port: number, proc = "/proc"): Listener[] {
  const rows = readKernelTables(proc, SOCKET_STATE.listening).filter(({ localPort }) => localPort === port);
  const holders = findHolders(proc, new Set(rows.map(({ inode }) => inode)));
  const pids = new Set([...holders.values()].flatMap((each) => [...each]));
  return Array.from(pids, (pid) => {
    const commandLine = readCommandLine(proc, pid);
    return { pid, program: programOf(commandLine), commandLine };
  });
}

/** Parses the output of `lsof -nP -iTCP:<port> -sTCP:LISTEN -Fpc` (lsof(8), "Output for other programs"). */
function readLsofListener(output: string): Listener | null {
  const [, pid, name] = /^p(\d+)\n(?:c(.*)\n)?/m.exec(output) ?? [];
  if (pid === undefined) return null;
  return { pid: Number(pid), program: name === undefined ? null : readLsofName(name), commandLine: [] };
}

/** Parses the output of `netstat -ano -p TCP` and `TCPv6`, with the programs of `tasklist /FO CSV /NH`. */
function readNetstatListener(output: string, tasks: string, port: number): Listener | null {
  for (const line of output.split("\n")) {
    const [protocol, local, remote, , pid] = line.trim().split(/\s+/);
    // The state's name is localised. A listening socket has no remote port.
    if (protocol !== "TCP" || !local?.endsWith(`:${port}`) || !remote?.endsWith(":0")) continue;
    return { pid: Number(pid), program: readTasks(tasks).get(Number(pid)) ?? null, commandLine: [] };
  }
  return null;
}

/** Finds a process that listens on a TCP port. Null if this user can't see it. Never rejects. */
export async function findListener(
  port: number,
  platform: string = process.platform,
  { proc = "/proc", run = runCommand }: { readonly proc?: string; readonly run?: RunCommand } = {},
): Promise<Listener | null> {
  if (platform === "linux" || platform === "android") return findListenersOnLinux(port, proc)[0] ?? null;
  if (platform === "darwin")
    return readLsofListener(await outputOf(run, "lsof", "-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"));
  if (platform !== "win32") return null;
  const { sockets, tasks } = await readNetstat(run);
  return readNetstatListener(sockets, tasks, port);
}
