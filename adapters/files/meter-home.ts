import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The meter's home: `$METER_HOME`, else `~/.meter`. Source: decisions, "Names, versions, places". */
export function meterHome(env: Readonly<Record<string, string | undefined>>): string {
  return env.METER_HOME ? resolve(env.METER_HOME) : join(homedir(), ".meter");
}
