import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { writeFileAtomic } from "../files/write-file-atomic.ts";

/** Reads a file with one character per byte, so that any encoding survives a round trip; null if it does not exist. */
export function readBytes(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw cause;
  }
}

/** Returns text in the form of `readBytes()`: one character per UTF-8 byte. */
export const asBytes = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/**
 * Replaces a file's contents and creates its folders. Keeps symbolic links (start files often point into a repository), and
 * the mode and owner of an existing file, since root may write another user's file; with `restrict`, the file also loses all permissions
 * that are not in `mode`. Throws for a dangling link, since replacing it would lose its target.
 */
export function writeBytes(path: string, bytes: string, mode: number, { restrict = false } = {}): void {
  mkdirSync(dirname(path), { recursive: true });
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() && !existsSync(path))
    throw new Error(`${path} is a link to a file that does not exist`);
  const target = found === undefined ? path : realpathSync(path);
  const before = statSync(target, { throwIfNoEntry: false });
  const kept = before === undefined ? mode : before.mode & (restrict ? mode : 0o7777);
  writeFileAtomic(target, Buffer.from(bytes, "latin1"), { mode: kept });
  const after = statSync(target);
  if (before !== undefined && (before.uid !== after.uid || before.gid !== after.gid)) {
    try {
      chownSync(target, before.uid, before.gid);
    } catch {
      // Only root can change the owner. The contents are written either way.
    }
  }
  // The umask and a change of owner may have cleared bits.
  chmodSync(target, kept);
}

/** Returns the missing folders above a file, outermost first. */
export function missingFoldersOf(path: string): string[] {
  const missing: string[] = [];
  for (let folder = dirname(path); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  return missing;
}

/** Removes the folders that are empty, innermost first. */
export function removeEmptyFolders(folders: readonly string[]): void {
  for (const folder of folders.toReversed()) {
    try {
      rmdirSync(folder);
    } catch {
      return; // Not empty any more, or already gone.
    }
  }
}
