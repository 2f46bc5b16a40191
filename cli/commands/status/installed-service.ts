import { join } from "node:path";
import { readSmallFile } from "../../../adapters/files/read-small-file.ts";
import { findServiceCommands } from "../../../core/operations/install/service-commands.ts";
import type { InstallRecord } from "../../../core/operations/install/step.ts";

/** The record contains the files that were written; a megabyte would be about a hundred of them. */
const MAX_RECORD_BYTES = 1024 * 1024;

/**
 * Returns the service manager that runs this home's daemon, from the install record; its name is null if `init` found none.
 * Returns null if nothing is installed or the record can't be read. For display only: the record is not validated, because
 * that would take longer than the rest of `status`.
 */
export async function installedService(home: string): Promise<{ readonly manager: string | null } | null> {
  const file = await readSmallFile(join(home, "installed.json"), { maxBytes: MAX_RECORD_BYTES });
  if (!file.ok) return null;
  try {
    const record = JSON.parse(file.text) as InstallRecord;
    return { manager: findServiceCommands(record)?.manager ?? null };
  } catch {
    return null;
  }
}
