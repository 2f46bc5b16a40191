import { existsSync } from "node:fs";
import {
  type FoundDaemon,
  findDaemon,
  isAlive,
  lockFile,
  readStateFile,
  tokenFile,
} from "./daemon-process.ts";
import type { LoopbackOptions } from "./loopback-client.ts";
import { findMarkedDaemon } from "./supervision.ts";

/** The process that holds a home's lock. */
export interface Holder {
  /** Null if it is not known. */
  readonly pid: number | null;
  /** Whether the kernel names the process. Else only a file does, and its number may be another program's by now. */
  readonly isCertain: boolean;
  /**
   * What its `daemon.json` is. `absent`: it starts, stops or can't write the file. `damaged`: the file can't be read. `stale`: the file
   * names another process, such as a daemon that crashed.
   */
  readonly announcement: "valid" | "absent" | "damaged" | "stale";
}

/** Finds the daemon that holds the home's lock, whether it answers or not; null if the lock is free. */
export async function findHolder(home: string): Promise<Holder | null> {
  const { findLockHolder, isLocked } = await import("../../adapters/lock/exclusive-lock.ts");
  const { createSqliteOpener } = await import("../../adapters/sqlite/open-sqlite.ts");
  if (!(await isLocked(createSqliteOpener(), lockFile(home)))) return null;
  const state = await readStateFile(home);
  const locked = findLockHolder(lockFile(home));
  const isCertain = locked !== null;
  if (typeof state !== "string" && (isCertain ? locked === state.pid : isAlive(state.pid)))
    return { pid: state.pid, isCertain, announcement: "valid" };
  const announcement = typeof state === "string" ? state : "stale";
  return { pid: locked ?? (await findMarkedDaemon(home)), isCertain, announcement };
}

/** How long a daemon may take to write its files, in milliseconds: it checks them every two seconds. */
const WRITTEN_WITHIN_MS = 4_000;
const POLL_MS = 100;

/**
 * Finds the daemon of this home, or who holds the home if none answers; both are null if there is none. Waits for a daemon that is about
 * to write its `daemon.json`.
 */
export async function findDaemonOrHolder(
  home: string,
  options: LoopbackOptions = {},
): Promise<{ readonly running: FoundDaemon | null; readonly holder: Holder | null }> {
  const deadline = performance.now() + WRITTEN_WITHIN_MS;
  for (;;) {
    const state = await readStateFile(home);
    const running = await findDaemon(home, options);
    if (running !== null) return { running, holder: null };
    const holder = await findHolder(home);
    // A daemon that wrote the file after it was read here has not been asked.
    const wasAsked = typeof state !== "string" && state.pid === holder?.pid;
    if (holder === null || (holder.announcement === "valid" && wasAsked) || performance.now() > deadline)
      return { running, holder };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Waits until a running daemon has written its token again, if that was deleted. */
export async function waitForToken(home: string): Promise<void> {
  const deadline = performance.now() + WRITTEN_WITHIN_MS;
  while (!existsSync(tokenFile(home)) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** Describes a daemon that does not answer, and says what to do. */
export function describeHolder({ pid, announcement }: Pick<Holder, "pid" | "announcement">): string {
  const daemon = pid === null ? "A daemon" : `A daemon (process ${pid})`;
  const restart = "Restart it: meter stop && meter start";
  switch (announcement) {
    case "damaged":
      return `${daemon} is using this home but can't be found, because daemon.json is damaged. ${restart}`;
    case "stale":
      return `${daemon} is using this home but does not answer: daemon.json names another process, so it starts, or could not write the file (is the disk full?). Find the cause: meter doctor`;
    case "valid":
      return `${daemon} is using this home but does not answer: it hangs. Find the cause: meter doctor`;
    default:
      return `${daemon} is using this home but does not answer: it hangs, or could not write daemon.json (is the disk full?). Find the cause: meter doctor`;
  }
}
