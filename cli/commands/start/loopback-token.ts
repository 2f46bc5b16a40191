import { tokenFile } from "../../daemon/daemon-process.ts";
import { readOrCreateKey } from "../../home/read-or-create-secret.ts";

/** Reads the loopback API's token, or creates it when a daemon first starts. */
export function readOrCreateToken(home: string): Promise<string> {
  return readOrCreateKey(tokenFile(home));
}
