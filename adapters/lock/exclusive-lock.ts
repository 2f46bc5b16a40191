import { readFileSync, statSync } from "node:fs";
import { type SqliteOpener, StoreError } from "../../core/ports/sqlite.ts";

/** A lock that is held until it is released or its process ends, even by a kill. */
export interface ExclusiveLock {
  release(): void;
}

/** The `waitMs` for taking a lock that others probe with `isLocked()`, in milliseconds. */
export const PROBE_WAIT_MS = 500;

/**
 * Takes the lock at the path, or returns null if another process holds it. It is SQLite's file lock, which works the same on
 * every platform and runtime and is released when the process is killed. The file stays empty, so it can be locked on a
 * full disk too. Waiting for `waitMs` blocks the thread.
 */
export async function takeExclusiveLock(
  opener: SqliteOpener,
  path: string,
  waitMs = 0,
): Promise<ExclusiveLock | null> {
  try {
    const connection = await opener.open(path, { busyTimeoutMs: waitMs, lockOnly: true });
    try {
      connection.execute("BEGIN EXCLUSIVE");
    } catch (cause) {
      connection.close();
      throw cause;
    }
    return { release: () => connection.close() };
  } catch (cause) {
    if (cause instanceof StoreError && cause.reason === "busy") return null;
    throw cause;
  }
}

/** Interval between attempts, in milliseconds. */
const POLL_MS = 10;

/** Waits for the lock without blocking the thread. Returns null after the timeout. */
export async function waitForLock(
  opener: SqliteOpener,
  path: string,
  withinMs: number,
): Promise<ExclusiveLock | null> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const lock = await takeExclusiveLock(opener, path);
    if (lock !== null || performance.now() > deadline) return lock;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** A lock that is kept while others may delete its file. */
export interface KeptLock extends ExclusiveLock {
  /**
   * Whether this process holds the lock at the path. If its file was deleted or replaced, takes the lock of the new file, unless another
   * process holds that. False if the file can't be read or created.
   */
  isHeld(): Promise<boolean>;
}

/** Takes the lock at the path as `takeExclusiveLock()` does, and keeps it. */
export async function takeKeptLock(opener: SqliteOpener, path: string, waitMs = 0): Promise<KeptLock | null> {
  const first = await takeExclusiveLock(opener, path, waitMs);
  if (first === null) return null;
  let lock = first;
  let identity = opener.fileIdentity(path);
  const hold = async () => {
    if (opener.fileIdentity(path) === identity) return true;
    // A lock does not bring back a folder that was removed.
    const next = opener.hasFolder(path) ? await takeExclusiveLock(opener, path) : null;
    if (next === null) return false;
    lock.release();
    lock = next;
    identity = opener.fileIdentity(path);
    return true;
  };
  return { isHeld: () => hold().catch(() => false), release: () => lock.release() };
}

/** Whether a process holds the lock. Creates nothing, and does not keep others from taking it. */
export async function isLocked(opener: SqliteOpener, path: string): Promise<boolean> {
  if (opener.fileIdentity(path) === null) return false;
  try {
    (await opener.open(path, { busyTimeoutMs: 0, lockOnly: true, readOnly: true })).close();
    return false;
  } catch (cause) {
    return cause instanceof StoreError && cause.reason === "busy";
  }
}

/**
 * Returns the process that holds the lock, from the kernel's table of locks on Linux. Null if there is none, if the file system numbers
 * its devices otherwise than the table (Btrfs, overlayfs), and on other platforms.
 */
export function findLockHolder(path: string): number | null {
  try {
    const { dev, ino } = statSync(path);
    // The encoding of makedev(3), of which devices use the lower 32 bits.
    const device = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)]
      .map((part) => part.toString(16).padStart(2, "0"))
      .join(":");
    // proc_locks(5): `1: POSIX  ADVISORY  WRITE 4711 fd:01:1234 0 EOF`
    const row = new RegExp(`^\\d+: POSIX +ADVISORY +WRITE +(\\d+) ${device}:${ino} `, "m");
    const pid = row.exec(readFileSync("/proc/locks", "utf8"))?.[1];
    return pid === undefined ? null : Number(pid);
  } catch {
    return null;
  }
}
