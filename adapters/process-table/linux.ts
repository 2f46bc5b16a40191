import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { ProcessFacts, ProcessTable } from "../../core/ports/process-table.ts";
import { MAX_PARENTS, projectOf } from "./process-facts.ts";

/** Processes that are tried first, because they connected before. */
const MAX_RECENT = 16;
/** How long the scan may hold the thread before others get a turn, in milliseconds. */
const MAX_TURN_MS = 4;

export interface LinuxProcessTableOptions {
  /** Where procfs is mounted. */
  readonly proc?: string;
  /** Lets other work of the thread run. */
  readonly turn?: () => Promise<void>;
  /** A clock that never jumps, in milliseconds. */
  readonly monotonicMs?: () => number;
}

/** Reads a file of procfs; null where the process is gone or somebody else's. */
function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/**
 * Makes a reader of a kernel table. The kernel may take ten milliseconds to write its table of connections, so another
 * thread waits for it, and one reading serves everybody who asked before it began.
 */
export function createTableReader(path: string): () => Promise<string> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<string> | null = null;
  return () => {
    next ??= running.then(() => {
      next = null;
      const reading = readFile(path, "utf8").catch(() => "");
      running = reading;
      return reading;
    });
    return next;
  };
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** A port as the kernel's tables write it. */
export const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

/** The socket at the client's end: its inode and owner, from `/proc/net/tcp` or `tcp6` (proc(5)). */
export function findSocket(
  table: string,
  clientPort: number,
  proxyPort: number | null,
): { inode: string; uid: number } | null {
  const local = `:${hexPort(clientPort)} `;
  for (let at = table.indexOf(local); at !== -1; at = table.indexOf(local, at + 1)) {
    const start = table.lastIndexOf("\n", at) + 1;
    const end = table.indexOf("\n", at);
    const fields = table
      .slice(start, end === -1 ? table.length : end)
      .trim()
      .split(/\s+/);
    // Fields: sl, local address, remote address, state, queues, timer, retransmits, uid, timeout, inode.
    const [, localAddress, remoteAddress, , , , , uid, , inode] = fields;
    if (localAddress?.endsWith(local.trimEnd()) !== true || inode === undefined || inode === "0") continue;
    if (proxyPort !== null && remoteAddress?.endsWith(`:${hexPort(proxyPort)}`) !== true) continue;
    return { inode, uid: Number(uid) };
  }
  return null;
}

/** The parent's pid, from `/proc/<pid>/stat`; the program's name before it may hold spaces and parentheses. */
function parentOf(proc: string, pid: number): number {
  const stat = read(`${proc}/${pid}/stat`) ?? "";
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? 0);
}

function commandLineOf(proc: string, pid: number): string[] {
  const text = read(`${proc}/${pid}/cmdline`) ?? "";
  return text === "" ? [] : text.replace(/\0$/, "").split("\0");
}

function readFacts(proc: string, pid: number): ProcessFacts {
  const commandLines: string[][] = [];
  for (let each = pid; each > 1 && commandLines.length <= MAX_PARENTS; each = parentOf(proc, each)) {
    commandLines.push(commandLineOf(proc, each));
  }
  const program = commandLines[0]?.[0];
  return {
    pid,
    // A program that names itself puts the name here; the kernel's own name is cut at 15 characters.
    processName: program ? basename(program) : (read(`${proc}/${pid}/comm`) ?? "").trim() || null,
    commandLines,
    environmentProject: projectOf((read(`${proc}/${pid}/environ`) ?? "").split("\0")),
    cwd: readLink(`${proc}/${pid}/cwd`)?.replace(/ \(deleted\)$/, "") ?? null,
  };
}

function holdsSocket(proc: string, pid: number, link: string): boolean {
  const folder = `${proc}/${pid}/fd`;
  let descriptors: string[];
  try {
    descriptors = readdirSync(folder);
  } catch {
    return false;
  }
  // Sockets in use are mostly among the latest descriptors.
  return descriptors.reverse().some((descriptor) => readLink(`${folder}/${descriptor}`) === link);
}

function isOwnedBy(path: string, uid: number): boolean {
  try {
    return statSync(path).uid === uid;
  } catch {
    return false;
  }
}

/**
 * The process table of Linux, through `/proc`: the socket's inode from the kernel's table of connections, then the
 * process among the owner's that has it open, those that connected before and the youngest first. Other users'
 * processes can't be looked into, unless the daemon is root's.
 */
export function createLinuxProcessTable({
  proc = "/proc",
  turn = () => new Promise((resolve) => setImmediate(resolve)),
  monotonicMs = () => performance.now(),
}: LinuxProcessTableOptions = {}): ProcessTable {
  let recent: number[] = [];
  const readTcp = createTableReader(`${proc}/net/tcp`);
  const readTcp6 = createTableReader(`${proc}/net/tcp6`);

  async function findHolder(inode: string, uid: number): Promise<number | null> {
    const link = `socket:[${inode}]`;
    const tried = new Set(recent);
    for (const pid of recent) if (holdsSocket(proc, pid, link)) return pid;
    const pids = readdirSync(proc)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .sort((a, b) => b - a);
    let turnStart = monotonicMs();
    for (const pid of pids) {
      if (tried.has(pid) || !isOwnedBy(`${proc}/${pid}`, uid)) continue;
      if (holdsSocket(proc, pid, link)) return pid;
      if (monotonicMs() - turnStart < MAX_TURN_MS) continue;
      await turn();
      turnStart = monotonicMs();
    }
    return null;
  }

  return {
    async lookup({ clientPort, proxyPort }) {
      try {
        const socket =
          findSocket(await readTcp(), clientPort, proxyPort) ??
          findSocket(await readTcp6(), clientPort, proxyPort);
        if (socket === null) return null;
        const pid = await findHolder(socket.inode, socket.uid);
        if (pid === null) return null;
        recent = [pid, ...recent.filter((each) => each !== pid)].slice(0, MAX_RECENT);
        return readFacts(proc, pid);
      } catch {
        return null;
      }
    },
  };
}
