import { join } from "node:path";
import type { Writable } from "node:stream";
import { deleteLeftScratch } from "../../../adapters/agent-logs/scratch-folder.ts";
import { PROBE_WAIT_MS, takeKeptLock } from "../../../adapters/lock/exclusive-lock.ts";
import { createLog } from "../../../adapters/log/create-log.ts";
import { openLogFile } from "../../../adapters/log/rotating-log-file.ts";
import { createCallerLookup } from "../../../adapters/process-table/caller-lookup.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { collectGarbageAtRest } from "../../../adapters/threads/collect-at-rest.ts";
import { flushCompileCacheLater } from "../../../adapters/threads/thread-compile-cache.ts";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import { provisionalGate } from "../../../daemon/budgets/provisional-gate.ts";
import { type EarlyProxy, startProxyEarly } from "../../../daemon/proxy/early-proxy.ts";
import type { ProxyConfig } from "../../../daemon/proxy/proxy-config.ts";
import { ProxyListenError, startProxy } from "../../../daemon/proxy/start-proxy.ts";
import { lockFile } from "../../daemon/daemon-process.ts";
import {
  ATTENDED,
  describeCrash,
  findInterruption,
  markStart,
  NOT_STARTED_EXIT_CODE,
  RELAY_LOST_EXIT_CODE,
  readCrash,
  SOCKET_LOST_EXIT_CODE,
  type StartMark,
} from "../../daemon/supervision.ts";
import { prepareHome } from "../../home/prepare-home.ts";
import { readConfig } from "../../home/read-config.ts";
import { scratchFolder } from "../../home/scratch-folder.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { printableLines } from "../../render/printable.ts";
import { announceDaemon } from "./announce-daemon.ts";
import type { DaemonSetup, OpenedParts } from "./daemon-setup.ts";
import { createDaemonWarnings } from "./daemon-warnings.ts";
import { openAuthority } from "./open-authority.ts";
import { endOrphanedRelay } from "./orphaned-relay.ts";
import { passwordNotice } from "./proxy-login.ts";
import { createProxySettings, readConfiguredRoots, resolveListenAddress } from "./proxy-settings.ts";
import type { Serving } from "./serve-daemon.ts";
import { describeStartFailure, StartRefusal } from "./start-failure.ts";
import type { Relay } from "./start-relay.ts";
import { stopSignal } from "./stop-signal.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long clients wait for the database at most, in milliseconds. A long migration must not keep them from their providers. */
const MAX_HOLD_MS = 5_000;

/**
 * How often in a row the proxy may end within a minute of its start before the daemon ends too. The script has the same
 * number.
 */
const CRASH_BUDGET = 5;

/** How long the relay of a killed daemon may take to end by itself, in milliseconds. */
const ENDS_BY_ITSELF_MS = 2_000;
const ENDED_ORPHAN = "The relay of a daemon that was killed did not respond. It was ended.";

/** How long calls in flight may continue after SIGTERM, in milliseconds. */
const STOP_DEADLINE_MS = 10_000;

/** Runs the daemon in this process until it is stopped. Throws a `CommandFailure` if it can't start. */
export async function runDaemon(
  home: string,
  env: Environment,
  stderr: Writable,
  relay: Relay,
): Promise<number> {
  try {
    return await runInHome(home, env, stderr, relay);
  } catch (cause) {
    const isReplaced = env.METER_SUPERVISOR !== undefined && env[ATTENDED] === undefined;
    if (isReplaced && cause instanceof CommandFailure && !(cause instanceof StartRefusal))
      throw new CommandFailure(cause.message, NOT_STARTED_EXIT_CODE);
    throw cause;
  }
}

async function runInHome(home: string, env: Environment, stderr: Writable, relay: Relay): Promise<number> {
  prepareHome(home);
  const read = await readConfig(home, env);
  const run = () => runWithConfig(home, env, stderr, relay, read);
  try {
    return await run().catch(async (cause: unknown) => {
      const isTaken = cause instanceof ProxyListenError && cause.code === "EADDRINUSE";
      if (!isTaken || !(await endOrphanedRelay(read.config.proxy.port))) throw cause;
      stderr.write(`meter: ${ENDED_ORPHAN}\n`);
      return run();
    });
  } catch (cause) {
    throw await describeStartFailure(cause, read.config, home);
  }
}

async function runWithConfig(
  home: string,
  env: Environment,
  stderr: Writable,
  relay: Relay,
  { config, warnings: configWarnings }: Awaited<ReturnType<typeof readConfig>>,
): Promise<number> {
  const opener = createSqliteOpener();
  const lock = await takeKeptLock(opener, lockFile(home), PROBE_WAIT_MS);
  if (lock === null) throw new StartRefusal(`Another daemon runs in ${home}.`);
  const logFile = openLogFile(join(home, "logs", "daemon.log"));
  const log = createLog(logFile, config.log.level);
  const setup: DaemonSetup = {
    ...{ home, env, stderr, config, logFile, log, opener },
    warnings: createDaemonWarnings(stderr, log, configWarnings),
    registry: createRegistry(config.providers, { deployments: config.azureDeployments }),
    callers: createCallerLookup(),
  };
  const crash = readCrash(env);
  const interruptedAt = findInterruption(home, crash);
  const mark = markStart(home, env);
  if (crash !== null) setup.warnings.current.push(describeCrash(crash));
  const opened: OpenedParts = { earlyProxy: null, store: null };
  try {
    const warnings = setup.warnings.current;
    const proxy: ProxyConfig = {
      ...(await createProxySettings(home, config, setup.registry, env, warnings)),
      roots: readConfiguredRoots(home, config),
      authority: await openAuthority(home, env, setup.registry.hosts, warnings),
    };
    opened.earlyProxy = await startProxyBeforeStore(setup, proxy, relay);
    const apiAddress = await resolveListenAddress(config.api.host, env, warnings);
    for (const warning of warnings) setup.warnings.report(warning);
    // Imported here, so that clients are served while the rest of the program loads.
    const { serveDaemon } = await import("./serve-daemon.ts");
    const serving = await serveDaemon(setup, { proxy, apiAddress, relay }, opened);
    void deleteLeftScratch(scratchFolder(home));
    if (interruptedAt !== null) {
      void countInterruption(setup, opened, interruptedAt);
      setTimeout(() => void endRelayOfKilledDaemon(setup, serving), ENDS_BY_ITSELF_MS).unref();
    }
    const cause = await waitUntilStopped(setup, serving, mark, lock.isHeld);
    // The daemon closes the store.
    opened.store = null;
    await serving.daemon.stop(STOP_DEADLINE_MS);
    await serving.cloudPorts.client.close();
    // Another daemon is started then; meanwhile connections wait at the socket.
    return cause === "port_lost" ? SOCKET_LOST_EXIT_CODE : cause === "gave_up" ? RELAY_LOST_EXIT_CODE : 0;
  } finally {
    // Its timers would keep alive a process whose daemon did not start.
    opened.store?.close();
    await opened.earlyProxy?.abandon();
    await setup.callers.close();
    await logFile.close();
    mark.remove();
    lock.release();
  }
}

/**
 * Starts the proxy, so that clients are served while the database is opened. Null if the API's port is not known yet: the
 * proxy would then forward calls to it.
 */
async function startProxyBeforeStore(
  { config, callers, env }: DaemonSetup,
  proxy: ProxyConfig,
  { startThread }: Relay,
): Promise<EarlyProxy | null> {
  if (config.api.port === 0) return null;
  const early: ProxyConfig = { ...proxy, gate: provisionalGate(config.budgets), holdMs: MAX_HOLD_MS };
  return startProxyEarly((sink) =>
    startProxy(early, sink, { connectLookup: callers.connect, startThread, ...restartsOf(env) }),
  );
}

/** Restarts the proxy at once as often as the budget allows; then the script puts a relay without metering in the daemon's place. */
const restartsOf = ({ METER_SUPERVISOR, METER_CRASH_BUDGET }: Environment) =>
  // Without the script, the daemon keeps trying, after longer and longer delays.
  METER_SUPERVISOR !== undefined && {
    maxFailures: Number(METER_CRASH_BUDGET ?? CRASH_BUDGET),
    restartDelayMs: () => 0,
  };

/** Counts in the coverage that an earlier daemon ended without being stopped. */
async function countInterruption(
  { warnings }: DaemonSetup,
  { store }: OpenedParts,
  atMs: number,
): Promise<void> {
  try {
    await store?.opened;
    store?.coverage.add([{ at: Math.round(atMs), host: null, kind: "interrupted", count: 1 }]);
  } catch (cause) {
    warnings.report(`The end of the last daemon could not be counted: ${(cause as Error).message}.`);
  }
}

/** Ends the relay of a daemon that was killed if it still exists: it hangs, with a copy of the socket that a service manager holds. */
async function endRelayOfKilledDaemon({ warnings }: DaemonSetup, { running }: Serving): Promise<void> {
  if (await endOrphanedRelay(running.proxy_port)) warnings.report(ENDED_ORPHAN);
}

/** Announces the daemon to commands and waits for a signal or the loss of its port. */
async function waitUntilStopped(
  { home, stderr, warnings: { report } }: DaemonSetup,
  { running, token, proxyLost }: Pick<Serving, "running" | "token" | "proxyLost">,
  { path, text }: StartMark,
  isOwnHome: () => Promise<boolean>,
): Promise<"signal" | "port_lost" | "gave_up"> {
  if (running.password_file !== undefined)
    stderr.write(`meter: ${printableLines(passwordNotice(running.password_file, stderr))}\n`);
  // Before the announcement: a command that reads it may stop the daemon at once.
  const stopped = stopSignal();
  const mark = { path, text, isWritten: true };
  const withdraw = announceDaemon(home, { running, token, mark }, { isOwnHome, report });
  flushCompileCacheLater();
  collectGarbageAtRest({ thoroughly: true });
  const cause = await Promise.race([stopped, proxyLost]);
  withdraw();
  return cause;
}
