import type { ProcessFacts } from "../../core/ports/process-table.ts";
import { readCwd, readFacts, readLink, readStat, SOCKET_PREFIX } from "./linux-process.ts";

/** The processes that connected before. */
export interface KnownProcesses {
  /** Reports the sockets in descriptors that held a caller's socket before, until `report` returns true. */
  findHolders(report: (inode: string, pid: number) => boolean): void;
  /** Remembers the descriptor that held a caller's socket. */
  remember(pid: number, descriptor: string): void;
  /** Returns what is known about a process. */
  factsOf(pid: number): ProcessFacts;
}

/** How many descriptors are remembered. A program opens its next connection with a descriptor that it used before. */
const MAX_DESCRIPTORS = 16;

/** How many processes are remembered. */
const MAX_PROCESSES = 64;

/**
 * How long the facts of a process are used, in milliseconds. They change when the process executes another program under the same
 * name or its parent exits.
 */
export const FACTS_MAX_AGE_MS = 5_000;

interface KnownFacts {
  readonly identity: string;
  readonly atMs: number;
  readonly facts: ProcessFacts;
}

/** Creates an empty memory of processes. */
export function createKnownProcesses(proc: string, monotonicMs: () => number): KnownProcesses {
  /** The latest last. */
  const descriptors = new Map<string, number>();
  const known = new Map<number, KnownFacts>();
  return {
    findHolders(report) {
      for (const [path, pid] of [...descriptors].reverse()) {
        const link = readLink(path);
        if (link === null) descriptors.delete(path);
        else if (link.startsWith(SOCKET_PREFIX) && report(link.slice(SOCKET_PREFIX.length, -1), pid)) return;
      }
    },
    remember(pid, descriptor) {
      const path = `${proc}/${pid}/fd/${descriptor}`;
      descriptors.delete(path);
      descriptors.set(path, pid);
      const [oldest] = descriptors.keys();
      if (descriptors.size > MAX_DESCRIPTORS && oldest !== undefined) descriptors.delete(oldest);
    },
    factsOf(pid) {
      const atMs = monotonicMs();
      const stat = readStat(proc, pid);
      const identity = `${stat?.startTime} ${stat?.name}`;
      const found = known.get(pid);
      if (found?.identity === identity && atMs - found.atMs <= FACTS_MAX_AGE_MS)
        return { ...found.facts, cwd: readCwd(proc, pid) };
      const facts = readFacts(proc, pid);
      known.delete(pid);
      known.set(pid, { identity, atMs, facts });
      const [oldest] = known.keys();
      if (known.size > MAX_PROCESSES && oldest !== undefined) known.delete(oldest);
      return facts;
    },
  };
}
