import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ANCHOR_FOLDER } from "../adapters/installer/find-machine.ts";

/**
 * The file by which root trusts an authority that `init` could only advise on, so that no record has it; null where there is
 * none. It is root's to remove.
 */
export function trustedByHand(name: string, caFile: string, folder: string = ANCHOR_FOLDER): string | null {
  const path = join(folder, `${name}-local-ca.crt`);
  try {
    return readFileSync(path, "utf8") === readFileSync(caFile, "utf8") ? path : null;
  } catch {
    return null;
  }
}
