import { statfsSync } from "node:fs";

/** Returns the bytes that this user can still write to the disk of a folder; null if that is not known. */
export function readFreeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
