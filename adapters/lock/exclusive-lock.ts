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
