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
import { writeFileAtomic } from "../files/mod.ts";

/** The text of a file, each byte one character, so that a file in any encoding comes back as it was; null where absent. */
export function readBytes(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw cause;
  }
}

/** Text of ours as `readBytes()` would give it. */
export const asBytes = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/**
 * Replaces what a file holds, and makes its folders. A symbolic link stays one (start files often lead into a repository),
 * and so do mode and owner of a file that is there: root may write for somebody else. A link that leads nowhere is
 * refused, since to replace it would lose where it led.
 */
export function writeBytes(path: string, bytes: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true });
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() && !existsSync(path)) throw new Error(`${path} is a link that leads nowhere`);
  const target = found === undefined ? path : realpathSync(path);
  const before = statSync(target, { throwIfNoEntry: false });
  const kept = before === undefined ? mode : before.mode & 0o7777;
  writeFileAtomic(target, Buffer.from(bytes, "latin1"), { mode: kept });
  const after = statSync(target);
  if (before !== undefined && (before.uid !== after.uid || before.gid !== after.gid)) {
    try {
      chownSync(target, before.uid, before.gid);
    } catch {
      // Only root gives files away; the text is what matters.
    }
  }
  // The umask may have taken bits away, and so does a change of owner.
  chmodSync(target, kept);
}

/** The folders above a file that are not there, the outermost first. */
export function missingFoldersOf(path: string): string[] {
  const missing: string[] = [];
  for (let folder = dirname(path); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  return missing;
}

/** Removes folders that are empty, the innermost first. */
export function removeEmptyFolders(folders: readonly string[]): void {
  for (const folder of folders.toReversed()) {
    try {
      rmdirSync(folder);
    } catch {
      return; // Something else is in it now, or it is gone.
    }
  }
}
