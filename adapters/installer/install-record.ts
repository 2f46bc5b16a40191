import { rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { type InstallRecord, installRecordSchema } from "../../core/operations/install/step.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { writeFileAtomic } from "../files/write-file-atomic.ts";

/** The path of the record of what `init` did. */
export const installRecordFile = (meterHome: string): string => join(meterHome, "installed.json");

const MAX_RECORD_BYTES = 4 * 1024 * 1024;

/** The record exists but can't be read or is invalid, so its steps can't be undone automatically. */
export class InstallRecordError extends Error {
  override name = "InstallRecordError";
}

/** Reads the record of a home; null if nothing is installed. Rejects with an `InstallRecordError`. */
export async function readInstallRecord(meterHome: string): Promise<InstallRecord | null> {
  const path = installRecordFile(meterHome);
  const file = await readSmallFile(path, { maxBytes: MAX_RECORD_BYTES });
  if (!file.ok) {
    if (file.reason === "absent") return null;
    throw new InstallRecordError(`${path} can't be read: ${file.reason.replaceAll("_", " ")}`);
  }
  try {
    return v.parse(installRecordSchema, JSON.parse(file.text));
  } catch (cause) {
    throw new InstallRecordError(`${path} is not a valid install record`, { cause });
  }
}

/** Replaces the record and syncs it to disk before returning; null removes it. */
export function writeInstallRecord(meterHome: string, record: InstallRecord | null): void {
  const path = installRecordFile(meterHome);
  if (record === null) rmSync(path, { force: true });
  else writeFileAtomic(path, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
}
