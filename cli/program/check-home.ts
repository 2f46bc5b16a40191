import { statSync } from "node:fs";
import process from "node:process";
import { meterHome, RelativeHomeError } from "../../adapters/files/meter-home.ts";
import { quoteForShell } from "../../core/values/text/shell-words.ts";
import { CommandFailure } from "./exit-codes.ts";

/** Returns the meter's home. Fails, with the fix, if the environment names none. */
export function findHome(env: Readonly<Record<string, string | undefined>>): string {
  try {
    return meterHome(env);
  } catch (cause) {
    const { message } = cause as Error;
    if (!(cause instanceof RelativeHomeError)) throw new CommandFailure(message);
    const command =
      process.platform === "win32"
        ? `set METER_HOME=${cause.meant}`
        : `export METER_HOME=${quoteForShell(cause.meant)}`;
    throw new CommandFailure(`${message}\nSet an absolute one: ${command}`);
  }
}

/**
 * Throws if the home exists and another user owns it. Files of other users are not read, so a command would find no daemon there, and root
 * would stop or delete what another user runs. Throws too if the home can't be reached.
 */
export function checkHome(home: string): void {
  const [uid, owner] = [process.geteuid?.(), findOwner(home)];
  if (uid === undefined || owner === null || owner === uid) return;
  throw unusableHome(
    home,
    `it belongs to user ${owner}, and this is user ${uid}`,
    "Run meter as that user, or set METER_HOME to another folder",
  );
}

/** Creates the failure of a command whose home can't be used. */
export function unusableHome(
  home: string,
  why: string,
  fix = "Set METER_HOME to another folder",
): CommandFailure {
  return new CommandFailure(`The home ${home} can't be used: ${why}. ${fix}.`);
}

/** Returns the user id of a folder's owner; null if it does not exist. */
function findOwner(folder: string): number | null {
  try {
    return statSync(folder).uid;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw unusableHome(folder, message);
  }
}
