import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolder } from "./write-file-atomic.ts";

/**
 * Creates a folder and its missing parents, readable only by this user, and syncs their names to disk: a file that is synced
 * in a folder whose name is lost in a power cut would be lost with it. Existing folders are unchanged. Creates them one by
 * one, because Node's recursive option never returns below `/proc`, where nothing can be created. Throws the system's
 * error.
 */
export function makeFolder(path: string): void {
  const isFolder = () => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder()) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (cause) {
    // Another process may have created it meanwhile.
    if (!isFolder()) throw cause;
  }
  syncFolder(dirname(path));
}
