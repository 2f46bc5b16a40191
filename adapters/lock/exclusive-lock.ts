import { type SqliteOpener, StoreError } from "../../core/ports/sqlite.ts";

/** A lock that is held until it is released or its process ends, however it ends. */
export interface ExclusiveLock {
  release(): void;
}

/** How long to wait for one that only looks, in milliseconds: the `waitMs` of who takes a lock that others look at. */
export const LOOK_MS = 500;

/**
 * Takes the lock that the file stands for, or gives null where another process holds it. SQLite's own file lock is
 * used, since it is the same on every platform and runtime, and the system lets go of it when a process is killed. The
 * file stays empty, so that it can be locked on a full disk too. `waitMs` holds up the whole thread.
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

/** Between two looks at a lock that somebody else holds, in milliseconds. */
const POLL_MS = 10;

/** Takes the lock when its turn comes, without holding up the thread; null where that is not within the time. */
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

/** Whether some process holds the lock; nothing is made, and who wants to take it is not kept from it. */
export async function isLocked(opener: SqliteOpener, path: string): Promise<boolean> {
  if (opener.fileIdentity(path) === null) return false;
  try {
    (await opener.open(path, { busyTimeoutMs: 0, lockOnly: true, readOnly: true })).close();
    return false;
  } catch (cause) {
    return cause instanceof StoreError && cause.reason === "busy";
  }
}
