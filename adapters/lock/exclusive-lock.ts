import { type SqliteOpener, StoreError } from "../../core/ports/sqlite.ts";

/** A lock that is held until it is released or its process ends, however it ends. */
export interface ExclusiveLock {
  release(): void;
}

/**
 * Takes the lock that the file stands for, or gives null where another process holds it. SQLite's own file lock is
 * used, since it is the same on every platform and runtime, and the system lets go of it when a process is killed.
 */
export async function takeExclusiveLock(opener: SqliteOpener, path: string): Promise<ExclusiveLock | null> {
  try {
    const connection = await opener.open(path, { busyTimeoutMs: 0 });
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
