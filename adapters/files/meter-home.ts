import { homedir, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/**
 * Returns the meter's home: `$METER_HOME`, or `~/.meter`. Source: docs/specification.md#names-and-places. Throws a
 * `RelativeHomeError` if the variable is a relative path, and an error if neither a variable nor the system names a home folder.
 */
export function meterHome(env: Readonly<Record<string, string | undefined>>): string {
  const { METER_HOME } = env;
  if (!METER_HOME) return join(userHome("Set METER_HOME to a folder for the meter's data."), ".meter");
  if (isAbsolute(METER_HOME)) return resolve(METER_HOME);
  throw new RelativeHomeError(METER_HOME, absoluteOf(METER_HOME));
}

/** Thrown if `METER_HOME` is a relative path. */
export class RelativeHomeError extends Error {
  override name = "RelativeHomeError";
  /** The absolute path that was probably meant. */
  readonly meant: string;
  constructor(stated: string, meant: string) {
    super(`METER_HOME is a relative path, "${stated}", and so another folder in each working directory.`);
    this.meant = meant;
  }
}

/** Returns the absolute path that was probably meant. No shell replaces a `~` in quotes or in a file of variables. */
function absoluteOf(path: string): string {
  const home = /^~(?:[/\\]|$)/.test(path) ? findUserHome() : null;
  return home === null ? resolve(path) : join(home, path.slice(1));
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
