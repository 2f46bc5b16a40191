import { readFileSync } from "node:fs";

/** Returns how many files and sockets this process may have open at once; null if that is unknown or unlimited. */
export function readOpenFilesLimit(limitsFile = "/proc/self/limits"): number | null {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync(limitsFile, "utf8"));
    return found === null ? null : Number(found[1]);
  } catch {
    return null;
  }
}
