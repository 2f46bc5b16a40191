import { readFileSync } from "node:fs";
import { join } from "node:path";
import { serviceWords } from "../core/install/service-words.ts";
import type { InstallRecord } from "../core/install/step.ts";

/**
 * The service manager that keeps this home's daemon running, by the record of `init`; its name is null where `init` found
 * none on this machine. Null where nothing is installed, or the record can't be read. For display alone: the record is not
 * checked, which would take longer than all else in `status`.
 */
export function installedService(home: string): { readonly manager: string | null } | null {
  try {
    const record = JSON.parse(readFileSync(join(home, "installed.json"), "utf8")) as InstallRecord;
    return { manager: serviceWords(record)?.manager ?? null };
  } catch {
    return null;
  }
}
