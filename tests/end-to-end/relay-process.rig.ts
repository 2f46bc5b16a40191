import { readFileSync } from "node:fs";

/** Returns the process in which the daemon of this process id relays (Linux); null while there is none. */
export function findRelay(daemonPid: number): number | null {
  try {
    const children = readFileSync(`/proc/${daemonPid}/task/${daemonPid}/children`, "utf8").trim().split(" ");
    const relay = children.find((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("proxy-worker"),
    );
    return relay === undefined ? null : Number(relay);
  } catch {
    return null; // one of them has just ended
  }
}
