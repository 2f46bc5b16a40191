import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readSmallFile } from "../../adapters/files/read-small-file.ts";
import { writeFileAtomic } from "../../adapters/files/write-file-atomic.ts";

/** A secret has at most 64 characters and a line ending. */
const MAX_SECRET_BYTES = 128;

/**
 * Reads the secret in a file. Creates a new one if the file is missing or malformed, or if other users could have read or
 * written it and may therefore know the secret.
 */
export async function readOrCreateSecret(path: string, form: RegExp, create: () => string): Promise<string> {
  const file = await readSmallFile(path, { maxBytes: MAX_SECRET_BYTES, secret: true });
  const stored = file.ok ? file.text.trim() : "";
  if (form.test(stored)) return stored;
  const secret = create();
  writeFileAtomic(path, `${secret}\n`, { mode: 0o600 });
  return secret;
}

/** A key of 256 bits in hexadecimal, and how a new one is created. */
const KEY = [/^[0-9a-f]{64}$/, () => randomBytes(32).toString("hex")] as const;

/** Reads the 256-bit key in a file of the home, in hexadecimal, or creates it. */
export function readOrCreateKey(path: string): Promise<string> {
  return readOrCreateSecret(path, ...KEY);
}

/** Reads the key under which ids of sessions and agents are hashed before they are sent, or creates it. */
export function readOrCreateIdKey(home: string): Promise<string> {
  return readOrCreateKey(join(home, "id-key"));
}
