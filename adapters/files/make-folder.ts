import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder and its missing parents, readable only by this user. Existing folders are unchanged. Creates them one by
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
}
