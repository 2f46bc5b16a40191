import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ANCHOR_FOLDER } from "../../../adapters/installer/find-machine.ts";

/**
 * Returns the file with which root made the system trust the authority, following the advice of `init`; null if there is
 * none. It is not in the install record, and only root can remove it.
 */
export function trustedByHand(name: string, caFile: string, folder: string = ANCHOR_FOLDER): string | null {
  const path = join(folder, `${name}-local-ca.crt`);
  try {
    return readFileSync(path, "utf8") === readFileSync(caFile, "utf8") ? path : null;
  } catch {
    return null;
  }
}
