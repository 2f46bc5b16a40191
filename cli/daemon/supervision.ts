/** What `cli/supervise.sh`, or a process in its place, and the processes that it starts tell each other and commands. */
import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import process from "node:process";
import * as v from "valibot";
import { readSmallFile } from "../../adapters/files/read-small-file.ts";
import { read } from "../../adapters/process-table/linux-process.ts";
import { OR_RELAY } from "../../core/operations/install/service-files.ts";
import { databaseFile } from "../home/database-file.ts";
import { isAlive, stateFile } from "./daemon-process.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The script's file, next to the program. */
export const SUPERVISOR_SCRIPT = "supervise.sh";

/** The exit code of a daemon that lost its socket and must be started again. EX_TEMPFAIL of sysexits(3). */
export const SOCKET_LOST_EXIT_CODE = 75;

/** The exit code of a daemon whose proxy keeps crashing. */
export const RELAY_LOST_EXIT_CODE = 76;

/** The exit code of a daemon that can't start, and is to be replaced by a process that relays. EX_CONFIG of sysexits(3). */
export const NOT_STARTED_EXIT_CODE = 78;

/** The variable that `meter start` sets for the script: somebody reads why the daemon can't start, so nothing replaces it then. */
export const ATTENDED = "METER_ATTENDED";

/** A crash of the previous daemon. */
export interface Crash {
  /** The signal that ended it, or its exit code. */
  readonly cause: string;
  readonly atMs: number;
  /** Crashes within a minute, this one included. */
  readonly count: number;
}

/** Reads `METER_CRASH`, which the script sets after a crash: exit status of the shell, seconds since the epoch, count. */
export function readCrash({ METER_CRASH }: Environment): Crash | null {
  const [, code, at, count] = /^(\d{1,3}) (\d{1,12}) (\d{1,6})$/.exec(METER_CRASH ?? "") ?? [];
  if (code === undefined) return null;
  return { cause: describeExit(Number(code)), atMs: Number(at) * 1_000, count: Number(count) };
}

/** The cause if the daemon ended because its proxy kept crashing. */
export const PROXY_KEPT_CRASHING = "its proxy kept crashing";

/** The cause if the daemon could not start. */
export const COULD_NOT_START = "it could not start";

/** Describes an exit status. A shell reports the end by signal N as exit status 128 + N. */
function describeExit(code: number): string {
  if (code === RELAY_LOST_EXIT_CODE) return PROXY_KEPT_CRASHING;
  if (code === NOT_STARTED_EXIT_CODE) return COULD_NOT_START;
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128);
  return signal?.[0] ?? `exit code ${code}`;
}

/** Returns what `meter status` says about the crash before this daemon. */
export const describeCrash = ({ cause, atMs }: Crash): string =>
  cause === COULD_NOT_START
    ? `The daemon could not start at ${new Date(atMs).toISOString()}. Until it could, calls passed without being metered.`
    : `The daemon crashed (${cause}) at ${new Date(atMs).toISOString()} and was started again. Calls in flight have no record; they count as unfinished.`;

const startFile = (home: string) => join(home, "daemon.starting");

/** A mark that a daemon is running. */
export interface StartMark {
  readonly path: string;
  readonly text: string;
  /** Removes it, when the daemon ends. */
  remove(): void;
}

/**
 * Leaves a mark that a daemon is running: it may relay calls before it has announced itself. It contains the process of the script that
 * starts the daemon again, if any, and this process. A home that can't be written to has no mark.
 */
export function markStart(home: string, { METER_SUPERVISOR = "" }: Environment): StartMark {
  const path = startFile(home);
  const text = `${METER_SUPERVISOR} ${process.pid}`;
  try {
    writeFileSync(path, text, { mode: 0o600 });
  } catch {
    // The daemon reports that itself.
  }
  return { path, text, remove: () => rmSync(path, { force: true }) };
}

/** Reads the processes of the mark; those of older daemons name only the script. */
function readMark(home: string): { readonly supervisor: number | null; readonly daemon: number | null } {
  const [, supervisor, daemon] = /^(\d*)(?: (\d+))?$/.exec(read(startFile(home)) ?? "") ?? [];
  return { supervisor: supervisor ? Number(supervisor) : null, daemon: daemon ? Number(daemon) : null };
}

/**
 * Returns when an earlier daemon of this home ended without being stopped, in milliseconds since the epoch; null if none did.
 * Such a daemon leaves `daemon.json` behind, or `daemon.starting` if it ended before it had written that. Without a crash that the script reported, its last write to the database's log or to
 * its own log is the last time at which it ran for certain.
 */
export function findInterruption(home: string, crash: Crash | null): number | null {
  if (!existsSync(stateFile(home)) && !existsSync(startFile(home))) return null;
  if (crash !== null) return crash.atMs;
  const traces = [
    stateFile(home),
    startFile(home),
    `${databaseFile(home)}-wal`,
    join(home, "logs", "daemon.log"),
  ];
  return Math.max(...traces.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0));
}

/** The content of `<meter_home>/relay.json`: a process that relays without metering, because the daemon keeps crashing or can't start. */
export interface UnmeteredRelay {
  readonly pid: number;
  /** The process that starts the daemon again: the script, or this one. */
  readonly supervisor: number;
  readonly proxy_port: number;
  readonly crashes: number;
  readonly cause: string;
  /** When the daemon is tried again. */
  readonly until: string;
}

const unmeteredRelay = v.object({
  pid: v.pipe(v.number(), v.integer()),
  supervisor: v.pipe(v.number(), v.integer()),
  proxy_port: v.number(),
  crashes: v.number(),
  cause: v.string(),
  until: v.string(),
});

export const relayFile = (home: string) => join(home, "relay.json");

async function readRelay(home: string): Promise<UnmeteredRelay | null> {
  const file = await readSmallFile(relayFile(home), { maxBytes: 4096 });
  if (!file.ok) return null;
  try {
    return v.parse(unmeteredRelay, JSON.parse(file.text));
  } catch {
    return null;
  }
}

/** Returns the command line of a process where there is no `/proc`. */
async function askCommandLine(pid: number): Promise<string> {
  const { runCommand } = await import("../../adapters/process-table/run-command.ts");
  if (process.platform !== "win32") return runCommand("ps", ["-o", "args=", "-p", `${pid}`]).catch(() => "");
  const { readProcesses } = await import("../../adapters/process-table/windows.ts");
  const rows = await readProcesses(runCommand).catch(() => null);
  return rows?.get(pid)?.words.join(" ") ?? "";
}

/** Whether the command line of a process has one of these words. An earlier process's id may be that of another program by now. */
async function hasWord(pid: number | null, words: readonly string[]): Promise<boolean> {
  if (pid === null || !Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return false;
  const line = read(`/proc/${pid}/cmdline`) ?? (await askCommandLine(pid));
  return words.some((word) => line.includes(word));
}

/** Whether a process starts the daemon again: it is the script, or has the option in its place. */
const isSupervisor = (pid: number | null) => hasWord(pid, [SUPERVISOR_SCRIPT, OR_RELAY]);

/** Finds the process of the daemon that left its mark in this home; null if it is not known. */
export async function findMarkedDaemon(home: string): Promise<number | null> {
  const { daemon } = readMark(home);
  return (await isDaemon(daemon)) ? daemon : null;
}

/** Whether a process is a daemon, as its command line says. */
export const isDaemon = (pid: number | null) => hasWord(pid, ["--foreground"]);

/** Finds the process that relays without metering; null if there is none. If it has just died, the script starts it again. */
export async function findUnmeteredRelay(home: string): Promise<UnmeteredRelay | null> {
  const relay = await readRelay(home);
  if (relay === null || !(await isSupervisor(relay.supervisor))) return null;
  return isAlive(relay.pid) || Date.now() < Date.parse(relay.until) ? relay : null;
}

/** Finds the script that is about to start a daemon of this home again, or a process that relays without metering; null if none is. */
export async function findSupervisor(home: string): Promise<number | null> {
  for (const pid of [(await readRelay(home))?.supervisor ?? null, readMark(home).supervisor])
    if (await isSupervisor(pid)) return pid;
  return null;
}

/** Deletes `relay.json`. */
export const forgetRelay = (home: string): void => rmSync(relayFile(home), { force: true });
