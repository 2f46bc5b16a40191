import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { readSmallFile } from "../../adapters/files/read-small-file.ts";
import type { DaemonHealth } from "../../daemon/api/daemon-status.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { type LoopbackOptions, requestDaemon } from "./loopback-client.ts";

/** The content of `<meter_home>/daemon.json`, by which commands find the running daemon. */
export interface RunningDaemon {
  pid: number;
  /** Start of the process in clock ticks since boot (Linux). Shows whether the process id has been reused. */
  process_start?: number | undefined;
  version: string;
  /** The address at which this machine reaches the proxy; 127.0.0.1 if absent. */
  proxy_host?: string | undefined;
  proxy_port: number;
  api_host?: string | undefined;
  api_port: number;
  /** The file with the generated password for programs on other machines; absent if none was generated. */
  password_file?: string | undefined;
  /** The SHA-256 of the certificate whose authority signs for providers' hosts; null if none does. */
  authority?: string | null | undefined;
  started_at: string;
}

const runningDaemon = v.object({
  pid: v.pipe(v.number(), v.integer()),
  process_start: v.optional(v.number()),
  version: v.string(),
  proxy_host: v.optional(v.string()),
  proxy_port: v.number(),
  api_host: v.optional(v.string()),
  api_port: v.number(),
  password_file: v.optional(v.string()),
  authority: v.nullish(v.string()),
  started_at: v.string(),
});

export const lockFile = (home: string) => join(home, "daemon.lock");
export const stateFile = (home: string) => join(home, "daemon.json");
export const tokenFile = (home: string) => join(home, "loopback-token");
/** Reads the token with which commands authenticate to the loopback API. Fails if the file can't be read. */
export function readToken(home: string): string {
  try {
    return readFileSync(tokenFile(home), "utf8").trim();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CommandFailure(
      code === "ENOENT"
        ? `${tokenFile(home)} is missing. A running daemon writes it again within two seconds.\nIf it stays missing, restart the daemon: meter stop && meter start`
        : `The daemon can't be asked: ${message}.`,
    );
  }
}

export const bootLogFile = (home: string) => join(home, "logs", "start.log");

/** Reads the output of a daemon that failed to start; empty if there is none. */
export function readBootLog(home: string): string {
  try {
    return readFileSync(bootLogFile(home), "utf8").trim();
  } catch {
    return "";
  }
}

/** More than a daemon ever writes. */
const MAX_STATE_BYTES = 4096;

/** Reads `daemon.json`. */
export async function readStateFile(home: string): Promise<RunningDaemon | "absent" | "damaged"> {
  const file = await readSmallFile(stateFile(home), { maxBytes: MAX_STATE_BYTES });
  if (!file.ok) return file.reason === "absent" ? "absent" : "damaged";
  try {
    return v.parse(runningDaemon, JSON.parse(file.text));
  } catch {
    return "damaged";
  }
}

/** A daemon that answers. */
export interface FoundDaemon extends RunningDaemon {
  /** Whether it reports itself as degraded. */
  readonly isDegraded: boolean;
}

/** How often a daemon is asked whose process exists: on a busy machine an answer can take longer than the timeout. */
const HEALTH_ATTEMPTS = 2;

/** Finds the daemon of this home; null if it does not answer, even if a killed daemon left its file behind. */
export async function findDaemon(home: string, options: LoopbackOptions = {}): Promise<FoundDaemon | null> {
  for (let attempt = 1; ; attempt += 1) {
    const state = await readStateFile(home);
    if (typeof state === "string") return null;
    const found = await requestHealth(state, options);
    if (found !== "no answer") return found;
    if (attempt === HEALTH_ATTEMPTS || !isAlive(state.pid)) return null;
  }
}

/** Asks for the health of a daemon. Null if there is none at its address. */
async function requestHealth(
  state: RunningDaemon,
  options: LoopbackOptions,
): Promise<FoundDaemon | "no answer" | null> {
  try {
    const { status, body } = await requestDaemon(state, "/health", null, options);
    if (status !== 200) return "no answer";
    const health = JSON.parse(body) as Partial<DaemonHealth>;
    // Another daemon may have the port, and even the process id, by now.
    if (health.started_at !== state.started_at) return null;
    return { ...state, isDegraded: health.status === "degraded" };
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "ECONNREFUSED" ? null : "no answer";
  }
}

/** The path of `bin.js`: next to this file in a checkout, next to `dist/` in a package. */
export const programFile = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../bin.js" : "../../../cli/bin.js", import.meta.url),
);

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM";
  }
}
