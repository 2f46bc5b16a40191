import { chmodSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../adapters/files/mod.ts";
import { CommandFailure } from "./exit-codes.ts";

/** Makes the home and its folders, which nobody else may look into. */
export function prepareHome(home: string): void {
  try {
    prepareFolder(home);
  } catch (cause) {
    throw new CommandFailure(`the home ${home} can't be used: ${(cause as Error).message}`);
  }
  try {
    prepareFolder(join(home, "logs"));
  } catch {
    // A log that can't be written is counted and shown; it keeps nobody from metering.
  }
}

function prepareFolder(folder: string): void {
  makeFolder(folder);
  // The umask may have taken bits away or the folder be an old one.
  chmodSync(folder, 0o700);
}

/** Where the installation's own certificate authority keeps its files. */
export function authorityFiles(home: string): { caFolder: string; caFile: string } {
  const caFolder = join(home, "ca");
  return { caFolder, caFile: join(caFolder, "ca.pem") };
}
