import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { readSmallFile } from "../../../adapters/files/read-small-file.ts";
import { tokenFile } from "../../daemon/daemon-process.ts";

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
  rmSync(path, { force: true });
  writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: "wx" });
  return secret;
}

/** Reads the loopback API's token, or creates it when a daemon first starts. */
export function readOrCreateToken(home: string): Promise<string> {
  return readOrCreateSecret(tokenFile(home), /^[0-9a-f]{64}$/, () => randomBytes(32).toString("hex"));
}
