import { spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { readSmallFile } from "../adapters/files/read-small-file.ts";
import type { DaemonHealth } from "../daemon/daemon-status.ts";
import { askDaemon, type LoopbackAsk } from "./loopback-client.ts";

/** What a running daemon leaves in `<meter_home>/daemon.json`, so that the command line finds it. */
export interface RunningDaemon {
  pid: number;
  version: string;
  /** Where this machine reaches it; 127.0.0.1 where nothing is said. */
  proxy_host?: string | undefined;
  proxy_port: number;
  api_host?: string | undefined;
  api_port: number;
  started_at: string;
}

const runningDaemon = v.object({
  pid: v.pipe(v.number(), v.integer()),
  version: v.string(),
  proxy_host: v.optional(v.string()),
  proxy_port: v.number(),
  api_host: v.optional(v.string()),
  api_port: v.number(),
  started_at: v.string(),
});

export const lockFile = (home: string) => join(home, "daemon.lock");
export const stateFile = (home: string) => join(home, "daemon.json");
export const tokenFile = (home: string) => join(home, "loopback-token");
/** The secret that commands show to the loopback API, as the daemon of the home left it. Throws where it can't be read. */
export const readToken = (home: string): string => readFileSync(tokenFile(home), "utf8").trim();

export const bootLogFile = (home: string) => join(home, "logs", "start.log");

/** What a daemon that failed to start said; empty where it could not be written. */
export function readBootLog(home: string): string {
  try {
    return readFileSync(bootLogFile(home), "utf8").trim();
  } catch {
    return "";
  }
}

/** A page is more than a daemon writes. */
const MAX_STATE_BYTES = 4096;

async function readState(home: string): Promise<RunningDaemon | null> {
  const file = await readSmallFile(stateFile(home), { maxBytes: MAX_STATE_BYTES });
  if (!file.ok) return null;
  try {
    return v.parse(runningDaemon, JSON.parse(file.text));
  } catch {
    return null;
  }
}

/** A daemon that has answered. */
export interface FoundDaemon extends RunningDaemon {
  /** Whether it says of itself that it can't do its work. */
  readonly isDegraded: boolean;
}

/** The daemon of this home if it answers, else null: a file that a killed daemon left behind counts for nothing. */
export async function findDaemon(home: string, ask: LoopbackAsk = {}): Promise<FoundDaemon | null> {
  const state = await readState(home);
  if (state === null) return null;
  try {
    const { status, body } = await askDaemon(state, "/health", null, ask);
    if (status !== 200) return null;
    const health = JSON.parse(body) as Partial<DaemonHealth>;
    // The port, and even the process id, may be another daemon's by now.
    if (health.started_at !== state.started_at) return null;
    return { ...state, isDegraded: health.status === "degraded" };
  } catch {
    return null;
  }
}

/** The daemon that holds the home's lock, whether it answers or not; null where none does. */
export async function findHolder(home: string): Promise<{ pid: number | null } | null> {
  const { isLocked } = await import("../adapters/lock/mod.ts");
  const { createSqliteOpener } = await import("../adapters/sqlite/mod.ts");
  if (!(await isLocked(createSqliteOpener(), lockFile(home)))) return null;
  return { pid: (await readState(home))?.pid ?? null };
}

/** The program itself: beside this file in a checkout, beside `dist/` in a package. */
export const programFile = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./bin.js" : "../../cli/bin.js", import.meta.url),
);

/** Starts a daemon that outlives this process. Its output goes to `logs/start.log`; see `waitForDaemon()`. */
export function spawnDaemon(home: string): { pid: number; exited: Promise<number> } {
  let output: number | "ignore" = "ignore";
  try {
    output = openSync(bootLogFile(home), "w", 0o600);
  } catch {
    // A log that can't be written keeps nobody from starting.
  }
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
