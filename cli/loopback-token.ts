import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { readSmallFile } from "../adapters/files/mod.ts";
import { tokenFile } from "./daemon-process.ts";

/** A token is 64 digits and the end of the line. */
const MAX_TOKEN_BYTES = 128;

/**
 * The secret of the home for a daemon that starts. A new one is made where there is none, where the file holds something
 * else, and where others could read it or have put it there: then they may know it.
 */
export async function readOrMakeToken(home: string): Promise<string> {
  const path = tokenFile(home);
  const file = await readSmallFile(path, { maxBytes: MAX_TOKEN_BYTES, secret: true });
  const kept = file.ok ? file.text.trim() : "";
  if (/^[0-9a-f]{64}$/.test(kept)) return kept;
  const token = randomBytes(32).toString("hex");
  rmSync(path, { force: true });
  writeFileSync(path, `${token}\n`, { mode: 0o600, flag: "wx" });
  return token;
}
