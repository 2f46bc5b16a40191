import { existsSync, rmSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { makeFolder } from "../files/make-folder.ts";
import { type ExclusiveLock, takeExclusiveLock, waitForLock } from "../lock/exclusive-lock.ts";
import { createSqliteOpener } from "../sqlite/open-sqlite.ts";

/** How long another process may use the folder before the work is given up, in milliseconds. */
const LOCK_TIMEOUT_MS = 60_000;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const lockOf = (path: string) => `${path}.lock`;

/**
 * Runs the work with an empty private folder that no other process uses, and deletes it afterwards, also if a signal ends this
 * process. What a killed process left in it is deleted first. Returns null, without running the work, if another process uses the
 * folder for long.
 */
export async function withScratchFolder<Result>(
  path: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result | null> {
  makeFolder(dirname(path));
  const lock = await waitForLock(createSqliteOpener(), lockOf(path), LOCK_TIMEOUT_MS);
  if (lock === null) return null;
  const ignoreSignals = deleteOnSignal(path);
  try {
    await rm(path, { recursive: true, force: true });
    await mkdir(path, { mode: 0o700 });
    return await work(path);
  } finally {
    await deleteLocked(path, lock);
    ignoreSignals();
  }
}

/** Deletes what a killed process left in the folder. Does nothing while another process uses it. Never rejects. */
export async function deleteLeftScratch(path: string): Promise<void> {
  try {
    if (!existsSync(path)) return;
    const lock = await takeExclusiveLock(createSqliteOpener(), lockOf(path));
    if (lock !== null) await deleteLocked(path, lock);
  } catch {
    // The next import tries again.
  }
}

async function deleteLocked(path: string, lock: ExclusiveLock): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } finally {
    lock.release();
  }
}

/** Deletes the folder if a signal arrives, which then ends the process as without this. Returns the function that ends this. */
function deleteOnSignal(path: string): () => void {
  const handlers = SIGNALS.map((signal) => {
    const handler = () => {
      try {
        rmSync(path, { recursive: true, force: true });
      } catch {
        // Windows deletes no open file. The next import or start of the daemon does.
      }
      stop();
      process.kill(process.pid, signal);
    };
    process.on(signal, handler);
    return () => void process.off(signal, handler);
  });
  const stop = () => {
    for (const each of handlers) each();
  };
  return stop;
}
