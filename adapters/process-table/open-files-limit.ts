import { readFileSync } from "node:fs";

/** How many files and sockets this process may have open at once; null where that can't be told, or is not limited. */
export function readOpenFilesLimit(limitsFile = "/proc/self/limits"): number | null {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync(limitsFile, "utf8"));
    return found === null ? null : Number(found[1]);
  } catch {
    return null;
  }
}
