import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { type RunningDaemon, stateFile, tokenFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import { databaseFile } from "../../cli/home/database-file.ts";
import type { CoverageTotal } from "../../core/metering/coverage/coverage-kinds.ts";
import { memoryLimits } from "../../core/operations/install/memory-limits.ts";
import type { DaemonStatus } from "../../daemon/api/daemon-status.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { findProgram } from "../../tools/packages.ts";
import { runWords } from "../cli/run-command.rig.ts";
import { daemonFile, PROGRAMS_VARIABLE, programFile, sourceFile } from "./program-file.rig.ts";

/** Whole processes are started here, on Node: its own proxy variables and `process.execPath` are what they run on. */
export const onNodeOnly =
  "Deno" in globalThis || "Bun" in globalThis
    ? "starts processes that rely on Node's own proxy support"
    : false;

/** The runtime of the daemon and the commands: Node, or the value of `METER_TEST_RUNTIME` (`deno`, `bun`). */
export const meterRuntime = process.env.METER_TEST_RUNTIME ?? "node";

function runtimeWords(): readonly string[] {
  if (meterRuntime !== "deno" && meterRuntime !== "bun") return [process.execPath];
  const program = findProgram(meterRuntime);
  if (program === null) throw new Error(`${meterRuntime} is not installed. Install it: npm run setup`);
  return meterRuntime === "deno" ? [program, "run", "--allow-all", "--no-check"] : [program];
}

/** The program and the arguments with which a shell starts the command line. */
export const meterWords: readonly string[] = [...runtimeWords(), programFile("bin.js", meterRuntime)];

/** The words that start a daemon in the foreground. */
export const daemonWords: readonly string[] = [
  ...runtimeWords(),
  daemonFile(meterRuntime),
  ...["start", "--foreground"],
];

/** `meterWords` from the sources, for tests of how these are loaded. */
export const sourceWords: readonly string[] = [...runtimeWords(), sourceFile("bin.js")];

/** Why tests of resets are skipped on the daemon's runtime. */
export const withoutResets =
  meterRuntime === "deno" ? "Deno 2.9 neither sends nor reports a TCP reset below TLS" : false;

/** The time limit of a suite, in milliseconds. It then ends with the results so far. */
export const SUITE_TIMEOUT_MS = 180_000;

/** How long a condition may take to come true on a busy machine, in milliseconds. Longer for runs at a low priority. */
export const PATIENCE_MS = Number(process.env.METER_TEST_PATIENCE_MS ?? 30_000);

/** Polls until `look` returns a value; rejects with a description of what did not happen. */
export async function waitFor<T>(
  what: string,
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  withinMs: number = PATIENCE_MS,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await delay(10);
  }
}

/** The result of a command. */
export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Readonly<Record<string, string | undefined>>;
  cwd?: string;
}

/** This process's variables without any that would change a child's behaviour. It may use the same programs and compiled code. */
export function plainEnvironment(more: RunOptions["env"] = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) =>
      name === "NODE_COMPILE_CACHE" ||
      name === PROGRAMS_VARIABLE ||
      !/proxy|_BASE_URL$|^NODE_|^METER_|^HALTON_|^OLLAMA_|_API_KEY$|^COLUMNS$/i.test(name),
  );
  return { ...Object.fromEntries(own), ...more };
}

/** Runs a command until it exits. */
export function runProgram(words: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const [command = "", ...rest] = words;
  const child = spawn(command, rest, {
    env: plainEnvironment(options.env),
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  return finished(child);
}

function finished(child: ChildProcess): Promise<Finished> {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** Runs one command of the meter on a home, in a process. */
export function runMeter(
  home: string,
  words: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  return runProgram([...meterWords, ...words], { ...options, env: { METER_HOME: home, ...options.env } });
}

/** The commands that start programs: `meter run` gives its program the streams of its own process. */
const STARTING: readonly (string | undefined)[] = ["init", "run", "start"];

/**
 * Runs one command of the meter on a home as `runMeter` does, but in this process if the command can: loading the program takes longer than
 * most commands.
 */
export async function runCommand(
  home: string,
  words: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  if (meterRuntime !== "node" || options.cwd !== undefined || STARTING.includes(words[0]))
    return await runMeter(home, words, options);
  return await runWords(home, words, plainEnvironment(options.env));
}

/** Returns a text that changes with almost every write to a home's database. */
function describeDatabaseFiles(home: string): string {
  const file = databaseFile(home);
  return [file, `${file}-wal`]
    .map((path) => statSync(path, { throwIfNoEntry: false }))
    .map((stats) => `${stats?.ino} ${stats?.size} ${stats?.mtimeMs}`)
    .join();
}

/** Opens the store as a command does, and closes it again. */
export async function readStore<T>(home: string, work: (store: Store) => T | Promise<T>): Promise<T> {
  const store = await openStore(createSqliteOpener(), databaseFile(home), { readOnly: true });
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

/** One line of the daemon's log. */
type LogLine = Readonly<Record<string, unknown>> & { event: string; level: string };

/** A daemon in a separate process. */
export interface MeterProcess {
  readonly home: string;
  readonly proxyPort: number;
  readonly apiPort: number;
  readonly pid: number;
  /** The certificate of the installation's own authority, PEM. Empty if its file was deleted. */
  readonly caPem: string;
  /** `runCommand()` on its home. */
  run(words: readonly string[], options?: RunOptions): Promise<Finished>;
  /** All stored requests in the order in which they were stored. */
  rows(): Promise<StoredRequest[]>;
  /** Waits until `look` returns a value for all stored requests. */
  waitInRows<T>(what: string, look: (rows: StoredRequest[]) => T | null | undefined | false): Promise<T>;
  /** Waits until this number of requests is stored and their callers are known, and returns the requests. */
  waitForRows(count: number): Promise<StoredRequest[]>;
  coverage(): Promise<CoverageTotal[]>;
  /** The sum of one coverage counter over all hosts. */
  counted(kind: CoverageTotal["kind"]): Promise<number>;
  status(): Promise<DaemonStatus>;
  log(): LogLine[];
  /** Stops the daemon as `meter stop` does and returns its exit code and output. Safe to call twice. */
  stop(): Promise<Finished>;
  /** Resolves when it ends for any reason. `stop()` after another signal would be the second one, which ends it at once. */
  readonly ended: Promise<Finished>;
}

/** Creates a home with a configuration. */
export function createHome(
  config: readonly string[],
  home = mkdtempSync(join(tmpdir(), "meter-home-")),
): string {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "config.toml"), `${config.join("\n")}\n`, { mode: 0o600 });
  return home;
}

/** Returns a port of the loopback interface that no program uses. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Ports (by default free ones), and the simulated providers behind the settings for a company's proxy and authority. */
export function simulationConfig(
  parent: { url: string },
  simulation: { caFile: string },
  more: readonly string[] = [],
  ports: { proxy: number; api: number } = { proxy: 0, api: 0 },
): string[] {
  return [
    "[proxy]",
    `port = ${ports.proxy}`,
    `parent = ${JSON.stringify(parent.url)}`,
    `extra_ca = ${JSON.stringify(simulation.caFile)}`,
    "[api]",
    `port = ${ports.api}`,
    ...more,
  ];
}

/** Starts a daemon in the foreground of a child process and waits until it answers. */
export async function startMeter(
  home: string,
  options: RunOptions & { words?: readonly string[]; withinMs?: number } = {},
): Promise<MeterProcess> {
  const [command = "", ...rest] = options.words ?? daemonWords;
  const child = spawn(command, rest, {
    // With its memory limits, as `meter start` starts it, so that it does not restart itself to get them.
    env: plainEnvironment({ ...memoryLimits, METER_HOME: home, ...options.env }),
    stdio: ["ignore", "pipe", "pipe"],
    cwd: home,
  });
  const ended = finished(child);
  let over: Finished | null = null;
  ended.then((how) => {
    over = how;
  });
  const findRunning = async () => {
    if (over !== null) throw new Error(`the daemon ended with ${over.code}: ${over.stderr}`);
    try {
      const state = JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;
      if (state.pid !== child.pid) return null;
      return (await requestDaemon(state.api_port, "/health")).status === 200 ? state : null;
    } catch {
      return null;
    }
  };
  const running = await waitFor("the daemon to answer", findRunning, options.withinMs).catch(
    async (cause: unknown) => {
      child.kill("SIGKILL");
      await ended;
      throw cause;
    },
  );
  const rows = () =>
    readStore(home, (store) => store.records.read({ from: null, to: null, afterSeq: 0, limit: 1e6 }));
  const waitInRows: MeterProcess["waitInRows"] = (what, look) => {
    let seen = "";
    let skipped = 0;
    return waitFor(what, async () => {
      // Opening the database costs a fifth of a core at this rate. The times of its files are too coarse to rely on alone.
      const files = describeDatabaseFiles(home);
      if (files === seen && ++skipped % 20 !== 0) return null;
      seen = files;
      return look(await rows());
    });
  };
  const caFile = join(home, "ca", "ca.pem");
  const coverage = () => readStore(home, (store) => store.coverage.read({ from: null, to: null }));
  return {
    home,
    proxyPort: running.proxy_port,
    apiPort: running.api_port,
    pid: running.pid,
    caPem: existsSync(caFile) ? readFileSync(caFile, "utf8") : "",
    run: (words, how) => runCommand(home, words, how),
    rows,
    waitInRows,
    waitForRows: (count) =>
      waitInRows(`${count} requests to be stored`, (all) => {
        const isFinal = all.every(({ attributionDueAt }) => attributionDueAt === undefined);
        return all.length >= count && isFinal && all;
      }),
    coverage,
    async counted(kind) {
      const totals = await coverage();
      return totals.filter((each) => each.kind === kind).reduce((sum, { count }) => sum + count, 0);
    },
    async status() {
      const token = readFileSync(tokenFile(home), "utf8").trim();
      const answer = await requestDaemon(running.api_port, "/v1/status", token, {
        timeoutMs: PATIENCE_MS,
      });
      if (answer.status !== 200) throw new Error(`the daemon answered ${answer.status}: ${answer.body}`);
      return JSON.parse(answer.body) as DaemonStatus;
    },
    log: () =>
      readFileSync(join(home, "logs", "daemon.log"), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as LogLine),
    async stop() {
      if (over === null) child.kill("SIGTERM");
      return ended;
    },
    ended,
  };
}

/** Removes a home. Retries if a process that is still exiting writes to it. */
export function removeHome(home: string): void {
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
}
