import process from "node:process";
import { readInstallRecord } from "../../adapters/installer/install-record.ts";
import { createProgramRunner, type RunProgram } from "../../adapters/installer/run-program.ts";
import { findServiceCommands } from "../../core/operations/install/service-commands.ts";
import type { InstallRecord } from "../../core/operations/install/step.ts";
import { resolveListenHost } from "../../daemon/proxy/listen-host.ts";
import { prepareHome } from "../home/prepare-home.ts";
import { readConfig } from "../home/read-config.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import {
  bootLogFile,
  type FoundDaemon,
  findDaemon,
  isAlive,
  type RunningDaemon,
  readBootLog,
} from "./daemon-process.ts";
import { describeHolder, findHolder, type Holder } from "./find-holder.ts";
import { type BoundSocket, bindSocket, spawnDaemon } from "./spawn-daemon.ts";
import { findSupervisor, findUnmeteredRelay, forgetRelay, isDaemon } from "./supervision.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long a starting daemon may take to answer, in milliseconds. Generous, because the machine may be busy. */
const READY_WITHIN_MS = 30_000;
/**
 * How long a daemon may take to stop, in milliseconds. It lets streams finish for 10 s, closes them within 2 s and retries storing for 3 s;
 * the rest is for a busy machine.
 */
const STOPPED_WITHIN_MS = 45_000;
const POLL_MS = 50;

const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/**
 * Waits until the daemon of a home answers. Fails at once if `exitCode` returns a code, unless another daemon that was
 * started at the same moment holds the home.
 */
export async function waitForDaemon(
  home: string,
  exitCode: () => number | null = () => null,
): Promise<FoundDaemon> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    const started = await findDaemon(home);
    if (started !== null) return started;
    if ((await findUnmeteredRelay(home)) !== null)
      throw new CommandFailure(
        "The daemon could not start. Calls pass without being metered. Find the cause: meter doctor",
      );
    if (exitCode() !== null && (await findHolder(home)) === null) {
      throw didNotStart(home);
    }
    await pause();
  }
  const holder = await findHolder(home);
  if (holder !== null && (exitCode() !== null || holder.announcement === "damaged"))
    throw new CommandFailure(describeHolder(holder));
  if (exitCode() !== null) throw didNotStart(home);
  throw new CommandFailure(
    `The daemon did not answer within ${READY_WITHIN_MS / 1000} s. Its output is in ${bootLogFile(home)}.\nFind the cause: meter doctor`,
  );
}

const didNotStart = (home: string): CommandFailure =>
  new CommandFailure(`The daemon did not start. Its output:\n${readBootLog(home)}`);

/** Starts a daemon that outlives this process and waits until it answers. */
async function startInBackground(home: string, env: Environment): Promise<FoundDaemon> {
  prepareHome(home);
  const socket = await bindProxySocket(home, env);
  const child = spawnDaemon(home, socket);
  socket?.close();
  let exitCode: number | null = null;
  child.exited.then((code) => {
    exitCode = code;
  });
  return waitForDaemon(home, () => exitCode);
}

/** Binds the proxy's port. Null if its address may not be used or the configuration is invalid, which the daemon reports. */
async function bindProxySocket(home: string, env: Environment): Promise<BoundSocket | null> {
  if (process.platform === "win32") return null;
  try {
    const { config } = await readConfig(home, env);
    const isOpen = env.HALTON_METER_ALLOW_NON_LOOPBACK === "1";
    const { address } = await resolveListenHost(config.proxy.host, isOpen);
    return bindSocket(address, config.proxy.port);
  } catch {
    return null;
  }
}

/**
 * While no daemon runs, stops the script that would start one again, with its process that relays without metering. Returns whether there
 * was one.
 */
async function stopSupervisor(home: string): Promise<boolean> {
  const supervisor = await findSupervisor(home);
  if (supervisor === null || (await findHolder(home)) !== null) return false;
  await endProcess(supervisor);
  forgetRelay(home);
  return true;
}

/** Reads the install record of a home; null if there is none or it can't be read, which `doctor` reports. */
async function findInstallRecord(home: string): Promise<InstallRecord | null> {
  return readInstallRecord(home).catch(() => null);
}

async function runAll(run: RunProgram, commands: readonly (readonly string[])[]): Promise<boolean> {
  for (const words of commands) if ((await run(words)).code !== 0) return false;
  return commands.length > 0;
}

/** Starts the daemon of a home, through its service if one is installed and answers. */
export async function startDaemonOf(
  home: string,
  env: Environment,
): Promise<{ daemon: FoundDaemon; byService: boolean }> {
  // It may wait for up to an hour before it tries a daemon again.
  await stopSupervisor(home);
  const words = findServiceCommands(await findInstallRecord(home));
  if (words !== null && (await runAll(createProgramRunner(env), words.start)))
    return { daemon: await waitForDaemon(home), byService: true };
  return { daemon: await startInBackground(home, env), byService: false };
}

/** Asks a process to end and waits until it has. */
export async function endProcess(pid: number): Promise<void> {
  if (isAlive(pid)) process.kill(pid, "SIGTERM");
  const deadline = performance.now() + STOPPED_WITHIN_MS;
  while (isAlive(pid)) {
    if (performance.now() > deadline)
      throw new CommandFailure(
        `Process ${pid} did not stop within ${STOPPED_WITHIN_MS / 1000} s.\nEnd it: kill -9 ${pid}`,
      );
    await pause();
  }
}

/** How long a daemon without `daemon.json`, which may be stopping or starting, gets before it is asked to end, in milliseconds. */
const OTHER_STOP_MS = 30_000;
/** How long a command waits for a daemon before it says so, in milliseconds. */
const SILENT_MS = 1_000;
const HOLDER_POLL_MS = 100;

/** Waits until no daemon holds the home, or until `isEnough`. Returns the daemon that still holds it. */
async function waitForHolder(
  home: string,
  withinMs: number,
  notice: (text: string) => void,
  isEnough: (holder: Holder) => boolean = () => false,
): Promise<Holder | null> {
  const started = performance.now();
  let isNoticed = false;
  for (;;) {
    const holder = await findHolder(home);
    const waitedMs = performance.now() - started;
    if (holder === null || isEnough(holder) || waitedMs > withinMs) return holder;
    if (waitedMs >= SILENT_MS && !isNoticed) {
      isNoticed = true;
      const daemon = holder.pid === null ? "the daemon" : `the daemon (process ${holder.pid})`;
      notice(`Waiting up to ${withinMs / 1000} s for ${daemon} to end.`);
    }
    await new Promise((resolve) => setTimeout(resolve, HOLDER_POLL_MS));
  }
}

/** Asks the daemon that holds a home to end. Returns false if its process is not known. */
async function askToEnd(home: string, { pid, isCertain, announcement }: Holder): Promise<boolean> {
  // A signal ends a daemon that starts as a crash would, after which the script would start another one.
  const supervisor = announcement === "valid" ? null : await findSupervisor(home);
  const asked = supervisor ?? (isCertain || (await isDaemon(pid)) ? pid : null);
  if (asked === null) return false;
  if (isAlive(asked)) process.kill(asked, "SIGTERM");
  return true;
}

/**
 * Ends the daemon that holds a home although it does not answer. Returns whether there was one. A daemon that is being stopped has
 * deleted `daemon.json`, and a second signal would end it at once, so such a one gets time first.
 */
async function endHolder(home: string, notice: (text: string) => void): Promise<boolean> {
  if ((await findHolder(home)) === null) return false;
  const isNotStopping = ({ announcement }: Holder) => announcement !== "absent";
  let holder = await waitForHolder(home, OTHER_STOP_MS, notice, isNotStopping);
  if (holder !== null && (await askToEnd(home, holder)))
    holder = await waitForHolder(home, STOPPED_WITHIN_MS, notice);
  if (holder === null) return true;
  throw new CommandFailure(
    holder.pid === null
      ? `A daemon is using ${home} but does not answer. Find its process, and end it: ps -ef`
      : `The daemon (process ${holder.pid}) is using this home but does not answer.\nEnd it: kill -9 ${holder.pid}`,
  );
}

/**
 * Stops the service of a home, which would otherwise start the daemon again, then the daemon, whether it answers or not. Returns whether
 * there was one, and whether `init` changed programs to use it.
 */
export async function stopDaemonOf(
  home: string,
  running: RunningDaemon | null,
  env: Environment,
  notice: (text: string) => void = () => {},
): Promise<{ ended: boolean; apps: boolean }> {
  const record = await findInstallRecord(home);
  const words = findServiceCommands(record);
  if (words !== null) await runAll(createProgramRunner(env), words.stop);
  if (running !== null) await endProcess(running.pid);
  const wasHeld = running === null && (await endHolder(home, notice));
  const wasSupervised = await stopSupervisor(home);
  return { ended: running !== null || wasHeld || wasSupervised, apps: record?.apps ?? false };
}
