import { homedir, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/**
 * Returns the meter's home: `$METER_HOME`, or `~/.meter`. Source: docs/specification.md#names-and-places. Throws if neither a
 * variable nor the system names a home folder.
 */
export function meterHome(env: Readonly<Record<string, string | undefined>>): string {
  if (env.METER_HOME) return resolve(env.METER_HOME);
  return join(userHome("Set METER_HOME to a folder for the meter's data."), ".meter");
}

/**
 * Returns the home folder of this user; null if neither the environment nor the system names one, as in a container that runs as
 * any user id.
 */
export function findUserHome(): string | null {
  try {
    return userHome();
  } catch {
    return null;
  }
}

/**
 * Returns the home folder of this user. Throws if there is none, with the fix.
 *
 * Decision: an empty or relative `HOME` would depend on the working directory, so the system's entry is used instead.
 */
export function userHome(fix = "Set HOME to a folder."): string {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : userInfo().homedir;
  } catch (cause) {
    throw new Error(`This user has no home folder. ${fix}`, { cause });
  }
}
