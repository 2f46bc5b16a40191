import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { isIPv4 } from "node:net";
import { basename, win32 } from "node:path";
import { type RunCommand, runCommand } from "./run-command.ts";

/** An open connection of a process on this machine. */
export interface EstablishedConnection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** Null if the platform does not state it, for example for other users' processes. */
  readonly pid: number | null;
  readonly program: string | null;
}

/** States of a socket in the kernel's table. Source: Linux, include/net/tcp_states.h. */
export const SOCKET_STATE = { established: "01", listening: "0A" } as const;

/** A socket in the kernel's table. */
interface KernelRow {
  readonly inode: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
}

/** Parses an address in the kernel's format: 32-bit words read as little-endian. IPv4 in IPv6 becomes IPv4. */
export function readKernelAddress(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) =>
    (word.match(/../g) ?? []).toReversed().map((byte) => Number.parseInt(byte, 16)),
  );
  if (bytes.length === 4) return bytes.join(".");
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  if (isMapped) return bytes.slice(12).join(".");
  const groups = Array.from({ length: 8 }, (_, index) =>
    (((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0)).toString(16),
  );
  return groups.join(":");
}

/** Returns the canonical form of an address, so that addresses from different sources can be compared. */
export function plainAddress(address: string): string {
  if (isIPv4(address)) return address;
  const [head = "", tail] = address.toLowerCase().split("%")[0]!.split("::");
  const groups = (part: string | undefined) => (part ? part.split(":") : []);
  const left = groups(head);
  const right = groups(tail);
  const zeros =
    tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  return [...left, ...zeros, ...right].map((group) => group.replace(/^0+(?=.)/, "")).join(":");
}

/** Reads the sockets of a state from `/proc/net/tcp` and `tcp6` (proc(5)). */
export function readKernelTables(proc: string, wanted: string): KernelRow[] {
  const tables = ["tcp", "tcp6"].map((name) =>
    attempt(() => readFileSync(`${proc}/net/${name}`, "utf8"), ""),
  );
  return tables
    .join("\n")
    .split("\n")
    .flatMap((line) => {
      const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
      const [, localPort] = local?.split(":") ?? [];
      const [address, port] = remote?.split(":") ?? [];
      if (state !== wanted || inode === undefined || localPort === undefined) return [];
      if (address === undefined || port === undefined) return [];
      return [
        {
          inode,
          localPort: Number.parseInt(localPort, 16),
          remoteAddress: readKernelAddress(address),
          remotePort: Number.parseInt(port, 16),
        },
      ];
    });
}

function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise; // The process has exited or belongs to another user.
  }
}

/** Finds the processes that hold these sockets, by inode. */
export function findHolders(proc: string, inodes: ReadonlySet<string>): Map<string, Set<number>> {
  const holders = new Map<string, Set<number>>();
  for (const name of attempt(() => readdirSync(proc), [])) {
    if (!/^\d+$/.test(name)) continue;
    for (const descriptor of attempt(() => readdirSync(`${proc}/${name}/fd`), [])) {
      const link = attempt(() => readlinkSync(`${proc}/${name}/fd/${descriptor}`), "");
      const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
      if (inode === undefined || !inodes.has(inode)) continue;
      const known = holders.get(inode);
      if (known === undefined) holders.set(inode, new Set([Number(name)]));
      else known.add(Number(name));
    }
  }
  return holders;
}

/** Reads the command line of a process; empty if it has exited or belongs to another user. */
export const readCommandLine = (proc: string, pid: number): string[] =>
  attempt(() => readFileSync(`${proc}/${pid}/cmdline`, "utf8"), "")
    .split("\0")
    .slice(0, -1);

/** Returns the name of the program that a command line runs; null if it is empty. */
export const programOf = ([program]: readonly string[]): string | null =>
  program ? basename(program) : null;

/** Returns a program's name in the output of lsof, of which some versions write a space in hexadecimal. */
export const readLsofName = (name: string): string => name.replaceAll("\\x20", " ");

/** Runs a program for its output; empty if it cannot be run. */
export const outputOf = (run: RunCommand, program: string, ...words: readonly string[]): Promise<string> =>
  run(program, words).catch(() => "");

/** Reads the TCP sockets of Windows, and its processes. */
export async function readNetstat(
  run: RunCommand,
): Promise<{ readonly sockets: string; readonly tasks: string }> {
  const [four, six, tasks] = await Promise.all([
    outputOf(run, "netstat", "-ano", "-p", "TCP"),
    outputOf(run, "netstat", "-ano", "-p", "TCPv6"),
    outputOf(run, "tasklist", "/FO", "CSV", "/NH"),
  ]);
  return { sockets: `${four}\n${six}`, tasks };
}

function listLinux(proc: string): EstablishedConnection[] {
  const rows = readKernelTables(proc, SOCKET_STATE.established);
  const holders = findHolders(proc, new Set(rows.map(({ inode }) => inode)));
  return rows.map(({ inode, remoteAddress, remotePort }) => {
    const [pid = null] = holders.get(inode) ?? [];
    const program = pid === null ? null : programOf(readCommandLine(proc, pid));
    return { remoteAddress, remotePort, pid, program };
  });
}

/** Parses the output of `lsof -nP -iTCP -sTCP:ESTABLISHED -Fpcn` (lsof(8), "Output for other programs"). */
export function readLsofEstablished(output: string): EstablishedConnection[] {
  let pid: number | null = null;
  let program: string | null = null;
  return output.split("\n").flatMap((line) => {
    if (line.startsWith("p")) {
      pid = Number(line.slice(1));
      program = null;
    } else if (line.startsWith("c")) {
      program = readLsofName(line.slice(1));
    }
    const [, address, port] = /^n.*->\[?([^\]]+?)\]?:(\d+)$/.exec(line) ?? [];
    if (address === undefined) return [];
    return [{ remoteAddress: plainAddress(address), remotePort: Number(port), pid, program }];
  });
}

/** Parses the output of `tasklist /FO CSV /NH`: the programs by process id. */
export function readTasks(tasks: string): Map<number, string> {
  const rows = tasks.matchAll(/^"([^"]*)","(\d+)"/gm);
  return new Map(Array.from(rows, ([, name = "", pid]) => [Number(pid), win32.basename(name, ".exe")]));
}

/** Parses the output of `netstat -ano -p TCP` or `TCPv6`, with the programs of `tasklist /FO CSV /NH`. */
export function readNetstatEstablished(output: string, tasks: string): EstablishedConnection[] {
  const programs = readTasks(tasks);
  return output.split("\n").flatMap((line) => {
    const [protocol, , remote, , pid] = line.trim().split(/\s+/);
    const [, address, port] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(remote ?? "") ?? [];
    // The state's name is localised. A listening socket has no remote port.
    if (protocol !== "TCP" || address === undefined || port === "0" || pid === undefined) return [];
    return [
      {
        remoteAddress: plainAddress(address),
        remotePort: Number(port),
        pid: Number(pid),
        program: programs.get(Number(pid)) ?? null,
      },
    ];
  });
}

/** Lists the open connections of this machine that this user can see. Never rejects. */
export async function listEstablishedConnections(
  platform: string = process.platform,
  { proc = "/proc", run = runCommand }: { readonly proc?: string; readonly run?: RunCommand } = {},
): Promise<EstablishedConnection[]> {
  if (platform === "linux" || platform === "android") return listLinux(proc);
  if (platform === "darwin")
    return readLsofEstablished(await outputOf(run, "lsof", "-nP", "-iTCP", "-sTCP:ESTABLISHED", "-Fpcn"));
  if (platform !== "win32") return [];
  const { sockets, tasks } = await readNetstat(run);
  return readNetstatEstablished(sockets, tasks);
}
