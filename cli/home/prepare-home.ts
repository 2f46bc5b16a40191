import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../adapters/files/make-folder.ts";
import { checkHome, unusableHome } from "../program/check-home.ts";
import { CommandFailure } from "../program/exit-codes.ts";

/**
 * Creates the home and its folders with mode 0700. Throws if another user owns the home, because that user could change its
 * mode and replace its files, even those written by root.
 */
export function prepareHome(home: string): void {
  try {
    makeFolder(home);
    checkHome(home);
    restrict(home);
  } catch (cause) {
    throw cause instanceof CommandFailure ? cause : unusableHome(home, (cause as Error).message);
  }
  try {
    const logs = join(home, "logs");
    makeFolder(logs);
    restrict(logs);
  } catch {
    // Metering works without a log; lost log lines are counted and shown.
  }
  try {
    // For `compile-cache.js`. An existing folder keeps its mode: if others could write to it, restricting it now would make
    // their files trusted.
    mkdirSync(join(home, "compile-cache"), { mode: 0o700 });
  } catch {
    // It exists, or commands start without a cache.
  }
}

/** Makes a folder private. The umask may have removed bits, or it existed with another mode. */
const restrict = (folder: string) => chmodSync(folder, 0o700);

/** The files of the installation's own certificate authority. */
export function authorityFiles(home: string): { caFolder: string; caFile: string } {
  const caFolder = join(home, "ca");
  return { caFolder, caFile: join(caFolder, "ca.pem") };
}
