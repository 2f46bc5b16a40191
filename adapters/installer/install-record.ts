import { rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { type InstallRecord, installRecordSchema } from "../../core/install/mod.ts";
import { readSmallFile, writeFileAtomic } from "../files/mod.ts";

/** Where the record of what `init` did stands. */
export const installRecordFile = (meterHome: string): string => join(meterHome, "installed.json");

const MAX_RECORD_BYTES = 4 * 1024 * 1024;

/** Thrown where the record is there and can't be believed: what it lists can't be undone by itself then. */
export class InstallRecordError extends Error {
  override name = "InstallRecordError";
}

/** The record of a home; null where nothing is installed. Rejects with an `InstallRecordError`. */
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
    throw new InstallRecordError(`${path} is not what init wrote`, { cause });
  }
}

/** Replaces the record, on the disk before the call returns; null removes it. */
export function writeInstallRecord(meterHome: string, record: InstallRecord | null): void {
  const path = installRecordFile(meterHome);
  if (record === null) rmSync(path, { force: true });
  else writeFileAtomic(path, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
}
