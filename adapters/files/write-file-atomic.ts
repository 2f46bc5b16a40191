import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Replaces a file atomically: a reader sees the old or the new text, even after a power failure. The new file never has more permissions than
 * the given mode. The umask may remove some.
 */
export function writeFileAtomic(path: string, text: string | Uint8Array, options: { mode: number }): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const file = openSync(temporary, "wx", options.mode);
  try {
    try {
      const bytes = typeof text === "string" ? Buffer.from(text) : text;
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw namePath(cause, path);
  }
  syncFolder(dirname(path));
}

/** Replaces a file, unless it has this text already: then nothing is written, which a full disk would prevent. */
export function writeFileIfChanged(path: string, text: string, options: { mode: number }): void {
  let current: string | null = null;
  try {
    current = readFileSync(path, "utf8");
  } catch {
    // It is missing or can't be read, so it is replaced.
  }
  if (current !== text) writeFileAtomic(path, text, options);
}

/** Adds the path to the error of a call that has only a descriptor, such as a write to a full disk. */
function namePath(cause: unknown, path: string): unknown {
  if (!(cause instanceof Error) || !("syscall" in cause) || "path" in cause) return cause;
  return Object.assign(new Error(`${cause.message} '${path}'`, { cause }), cause, { path });
}

/** Syncs the names in a folder to disk. Windows cannot open folders and does not need this. */
export function syncFolder(path: string): void {
  let folder: number;
  try {
    folder = openSync(path, "r");
  } catch {
    return;
  }
  try {
    fsyncSync(folder);
  } catch {
    // Not every file system can sync folders.
  } finally {
    closeSync(folder);
  }
}
