import { homedir, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/**
 * The meter's home: `$METER_HOME`, else `~/.meter`. Source: decisions, "Names, versions, places". Throws where neither a
 * variable nor the system knows a home.
 */
export function meterHome(env: Readonly<Record<string, string | undefined>>): string {
  return env.METER_HOME ? resolve(env.METER_HOME) : join(userHome(), ".meter");
}

/** Decision: a `HOME` that is empty or relative would mean another place in each folder, so the system is asked. */
function userHome(): string {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : userInfo().homedir;
  } catch (cause) {
    throw new Error("this user has no home folder: say METER_HOME", { cause });
  }
}
