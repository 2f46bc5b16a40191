import { spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { askDaemon } from "./loopback-client.ts";

/** What a running daemon leaves in `<meter_home>/daemon.json`, so that the command line finds it. */
export interface RunningDaemon {
  pid: number;
  version: string;
  proxy_port: number;
  api_port: number;
  started_at: string;
}

const runningDaemon = v.object({
  pid: v.pipe(v.number(), v.integer()),
  version: v.string(),
  proxy_port: v.number(),
  api_port: v.number(),
  started_at: v.string(),
});

export const stateFile = (home: string) => join(home, "daemon.json");
export const tokenFile = (home: string) => join(home, "loopback-token");
export const bootLogFile = (home: string) => join(home, "logs", "start.log");

/** The daemon of this home if it answers, else null: a file that a killed daemon left behind counts for nothing. */
export async function findDaemon(home: string): Promise<RunningDaemon | null> {
  let state: RunningDaemon;
  try {
    state = v.parse(runningDaemon, JSON.parse(readFileSync(stateFile(home), "utf8")));
  } catch {
    return null;
  }
  try {
    const { status } = await askDaemon(state.api_port, "/health");
    return status === 200 ? state : null;
  } catch {
    return null;
  }
}

/** The program itself: beside this file in a checkout, beside `dist/` in a package. */
export const programFile = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./bin.js" : "../../cli/bin.js", import.meta.url),
);

/** Starts a daemon that outlives this process. Its output goes to `logs/start.log`; see `waitForDaemon()`. */
export function spawnDaemon(home: string): { pid: number; exited: Promise<number> } {
  const output = openSync(bootLogFile(home), "w", 0o600);
  const child = spawn(process.execPath, [programFile, "start", "--foreground"], {
    detached: true,
    stdio: ["ignore", output, output],
    env: { ...process.env, METER_HOME: home },
    cwd: home,
  });
  const exited = new Promise<number>((resolve) => {
    child.once("exit", (code) => resolve(code ?? 1));
    child.once("error", () => resolve(1));
  });
  child.unref();
  return { pid: child.pid ?? -1, exited };
}

/** Whether a process with this id is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM";
  }
}
