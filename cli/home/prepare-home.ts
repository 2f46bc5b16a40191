import { chmodSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { makeFolder } from "../../adapters/files/make-folder.ts";
import { CommandFailure } from "../program/exit-codes.ts";

/**
 * Creates the home and its folders with mode 0700. Throws if another user owns the home, because that user could change its
 * mode and replace its files, even those written by root.
 */
export function prepareHome(home: string): void {
  try {
    prepareFolder(home);
  } catch (cause) {
    throw new CommandFailure(`The home ${home} can't be used: ${(cause as Error).message}.`);
  }
  try {
    prepareFolder(join(home, "logs"));
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

function prepareFolder(folder: string): void {
  makeFolder(folder);
  checkOwner(folder);
  // The umask may have removed bits, or the folder existed with another mode.
  chmodSync(folder, 0o700);
}

/** Throws if another user owns the folder. */
export function checkOwner(folder: string): void {
  const [uid, owner] = [process.geteuid?.(), statSync(folder).uid];
  if (uid !== undefined && owner !== uid) {
    throw new Error(
      `it belongs to user ${owner}, and this is user ${uid}. Run meter as that user, or set METER_HOME to another folder`,
    );
  }
}

/** The files of the installation's own certificate authority. */
export function authorityFiles(home: string): { caFolder: string; caFile: string } {
  const caFolder = join(home, "ca");
  return { caFolder, caFile: join(caFolder, "ca.pem") };
}
