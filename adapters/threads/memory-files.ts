import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync, statfsSync, unlinkSync } from "node:fs";
import process from "node:process";

/** A file system in memory on Linux. */
const MEMORY_FOLDER = "/dev/shm";

/** The type of tmpfs that statfs(2) returns. */
const TMPFS = 0x01021994;

/**
 * Opens files without a name whose content is only in memory, and returns their descriptors. Processes that inherit them share the content,
 * which outlives a crash of each of them and ends with the last. Null if the platform has no such files.
 */
export function openMemoryFiles<Files extends readonly number[]>(count: Files["length"]): Files | null {
  if (process.platform !== "linux") return null;
  const opened: number[] = [];
  try {
    if (statfsSync(MEMORY_FOLDER).type !== TMPFS) return null;
    while (opened.length < count) {
      const name = `${MEMORY_FOLDER}/meter-${randomUUID()}`;
      opened.push(openSync(name, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600));
      unlinkSync(name);
    }
    return opened as readonly number[] as Files;
  } catch {
    for (const fd of opened) closeSync(fd);
    return null;
  }
}
