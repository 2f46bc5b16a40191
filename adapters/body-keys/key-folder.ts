import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { BodyKeyStore } from "../../core/ports/body-key-store.ts";
import { isUuid } from "../../core/values/uuid.ts";
import { makeFolder } from "../files/make-folder.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { writeFileAtomic } from "../files/write-file-atomic.ts";

const HEX_KEY = /^[0-9a-f]{64}$/;

/** A key as hex and a line break. */
const FILE_BYTES = 65;

/**
 * Stores each body key in its own file (mode 0600) in a folder, which is created with the first key. Several processes
 * may share the folder. Its methods reject with the system's error, and for a file that does not hold a key.
 */
export function createBodyKeyFolder(folder: string): BodyKeyStore {
  const fileOf = (keyId: string) => {
    // The id becomes a path.
    if (!isUuid(keyId)) throw new Error(`not the id of a body key: ${keyId}`);
    return join(folder, `${keyId.toLowerCase()}.key`);
  };
  return {
    async read(keyId) {
      const path = fileOf(keyId);
      const file = await readSmallFile(path, { maxBytes: 256, secret: true });
      if (!file.ok && file.reason === "absent") return null;
      const hex = file.ok ? file.text.trim() : "";
      if (!HEX_KEY.test(hex)) {
        throw new Error(`could not use the body key in ${path}: ${file.ok ? "not a key" : file.reason}`);
      }
      return Uint8Array.from(hex.match(/../g) as string[], (byte) => Number.parseInt(byte, 16));
    },
    async write(keyId, key) {
      makeFolder(folder);
      const hex = Array.from(key, (byte) => byte.toString(16).padStart(2, "0")).join("");
      writeFileAtomic(fileOf(keyId), `${hex}\n`, { mode: 0o600 });
    },
    async destroy(keyIds) {
      for (const keyId of keyIds) destroyFile(fileOf(keyId));
    },
  };
}

/** Overwrites a key's file before removing it, so that most file systems no longer hold its bytes. */
function destroyFile(path: string): void {
  let file: number;
  try {
    file = openSync(path, "r+");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return;
    throw cause;
  }
  try {
    writeSync(file, new Uint8Array(FILE_BYTES), 0, FILE_BYTES, 0);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  rmSync(path, { force: true });
}
