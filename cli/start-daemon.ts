import process from "node:process";
import { createRunWords, type RunWords, readInstallRecord } from "../adapters/installer/mod.ts";
import { type InstallRecord, serviceWords } from "../core/install/mod.ts";
import {
  bootLogFile,
  type FoundDaemon,
  findDaemon,
  findHolder,
  isAlive,
  type RunningDaemon,
  readBootLog,
  spawnDaemon,
} from "./daemon-process.ts";
import { CommandFailure } from "./exit-codes.ts";
import { prepareHome } from "./home.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long a daemon may take until it answers, in milliseconds: also on a machine that is busy with something else. */
const READY_WITHIN_MS = 30_000;
/** The daemon lets streams finish for 10 s; after this long, in milliseconds, something is wrong. */
const STOPPED_WITHIN_MS = 15_000;
const POLL_MS = 50;

const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/**
 * Waits until the daemon of a home answers; fails at once where `exitCode` says that it ended, unless because another one
 * was started at the same moment: that one is as good.
 */
export async function waitForDaemon(
  home: string,
  exitCode: () => number | null = () => null,
): Promise<FoundDaemon> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    const started = await findDaemon(home);
    if (started !== null) return started;
    if (exitCode() !== null && (await findHolder(home)) === null) {
      throw new CommandFailure(`the daemon did not start:\n${readBootLog(home)}`);
    }
    await pause();
  }
  if (exitCode() !== null) throw new CommandFailure(`the daemon did not start:\n${readBootLog(home)}`);
  throw new CommandFailure(
    `the daemon did not answer within ${READY_WITHIN_MS / 1000} s; see ${bootLogFile(home)}`,
  );
}

/** Starts a daemon that outlives this process and waits until it answers. */
async function startInBackground(home: string): Promise<FoundDaemon> {
  prepareHome(home);
  const child = spawnDaemon(home);
  let exitCode: number | null = null;
  child.exited.then((code) => {
    exitCode = code;
  });
  return waitForDaemon(home, () => exitCode);
}

/** What `init` recorded for a home; null also where the record can't be read, which `doctor` tells. */
async function recordOf(home: string): Promise<InstallRecord | null> {
  return readInstallRecord(home).catch(() => null);
}

async function runAll(run: RunWords, commands: readonly (readonly string[])[]): Promise<boolean> {
  for (const words of commands) if ((await run(words)).code !== 0) return false;
  return commands.length > 0;
}

/** Starts the daemon of a home, through its service where one is installed and answers. */
export async function startDaemonOf(
  home: string,
  env: Environment,
): Promise<{ daemon: FoundDaemon; byService: boolean }> {
  const words = serviceWords(await recordOf(home));
  if (words !== null && (await runAll(createRunWords(env), words.start)))
    return { daemon: await waitForDaemon(home), byService: true };
  return { daemon: await startInBackground(home), byService: false };
}

/** Asks a process to end and waits until it has. */
export async function endProcess(pid: number): Promise<void> {
  if (isAlive(pid)) process.kill(pid, "SIGTERM");
  const deadline = performance.now() + STOPPED_WITHIN_MS;
  while (isAlive(pid)) {
    if (performance.now() > deadline)
      throw new CommandFailure(`process ${pid} did not stop within ${STOPPED_WITHIN_MS / 1000} s`);
    await pause();
  }
}

/** Stops the daemon of a home, and before it the service that would start it again. */
export async function stopDaemonOf(
  home: string,
  running: RunningDaemon | null,
  env: Environment,
): Promise<{ apps: boolean }> {
  const record = await recordOf(home);
  const words = serviceWords(record);
  if (words !== null) await runAll(createRunWords(env), words.stop);
  if (running !== null) await endProcess(running.pid);
  return { apps: record?.apps ?? false };
}
