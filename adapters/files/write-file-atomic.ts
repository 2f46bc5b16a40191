import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Replaces a file in one step: whoever reads it sees the old text or the new one, also after a power cut. The new file
 * has the given mode from its first byte on, whatever the umask allows it beyond that.
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
    throw cause;
  }
  syncFolder(dirname(path));
}

/** Makes a rename last. Windows can't open folders and does not need it. */
function syncFolder(path: string): void {
  let folder: number;
  try {
    folder = openSync(path, "r");
  } catch {
    return;
  }
  try {
    fsyncSync(folder);
  } catch {
    // Not every file system syncs folders.
  } finally {
    closeSync(folder);
  }
}
