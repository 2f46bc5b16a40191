import { homedir, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/**
 * Returns the meter's home: `$METER_HOME`, or `~/.meter`. Source: docs/specification.md#names-and-places. Throws if neither a
 * variable nor the system names a home folder.
 */
export function meterHome(env: Readonly<Record<string, string | undefined>>): string {
  return env.METER_HOME ? resolve(env.METER_HOME) : join(userHome(), ".meter");
}

/** Decision: an empty or relative `HOME` would depend on the working directory, so the system's entry is used instead. */
function userHome(): string {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : userInfo().homedir;
  } catch (cause) {
    throw new Error("this user has no home folder. Set METER_HOME to a folder for the meter's data", {
      cause,
    });
  }
}
