import { join } from "node:path";
import { readSmallFile } from "../adapters/files/read-small-file.ts";
import { serviceWords } from "../core/install/service-words.ts";
import type { InstallRecord } from "../core/install/step.ts";

/** A record holds the files that were written; a megabyte would be a hundred of them. */
const MAX_RECORD_BYTES = 1024 * 1024;

/**
 * The service manager that keeps this home's daemon running, by the record of `init`; its name is null where `init` found
 * none on this machine. Null where nothing is installed, or the record can't be read. For display alone: the record is not
 * checked, which would take longer than all else in `status`.
 */
export async function installedService(home: string): Promise<{ readonly manager: string | null } | null> {
  const file = await readSmallFile(join(home, "installed.json"), { maxBytes: MAX_RECORD_BYTES });
  if (!file.ok) return null;
  try {
    const record = JSON.parse(file.text) as InstallRecord;
    return { manager: serviceWords(record)?.manager ?? null };
  } catch {
    return null;
  }
}
