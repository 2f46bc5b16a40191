import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statfsSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The folder of the programs in Debian's package of PostgreSQL 15. */
export const PROGRAMS = "/usr/lib/postgresql/15/bin";

/** A PostgreSQL server in a temporary folder. */
export interface PostgresServer {
  readonly port: number;
  /** The folder of its files. */
  readonly folder: string;
  /** `postgres://…/<database>`, as the superuser. */
  url(database: string): string;
  /** Like `pg_ctl -m immediate`: without a shutdown checkpoint, as after a crash. */
  crash(): Promise<void>;
  /** Like `kill -9`: the server's other processes are not told. */
  kill(): Promise<void>;
  /** `env` is added to its variables. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  stop(): Promise<void>;
  /** Writes the cluster to a file that `startPostgres` can start from. The server is stopped meanwhile. */
  save(path: string): Promise<void>;
}

/** Returns why no server can run here; null if one can. Installs the package if possible. */
export function missingPostgres(): string | null {
  if (process.platform !== "linux") return "PostgreSQL 15 is looked for on Linux only";
  if (existsSync(`${PROGRAMS}/initdb`)) return accountProblem();
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    return `PostgreSQL 15 is not installed in ${PROGRAMS}, and can't be installed here (apt-get, as root)`;
  }
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = ["-y", "-q", "-o", "DPkg::Lock::Timeout=180"];
  spawnSync("apt-get", ["update", ...options], { env });
  const { status } = spawnSync(
    "apt-get",
    ["install", "--no-install-recommends", ...options, "postgresql-15"],
    {
      env,
    },
  );
  return status === 0 && existsSync(`${PROGRAMS}/initdb`)
    ? accountProblem()
    : `apt-get could not install postgresql-15 (exit status ${status})`;
}

function accountProblem(): string | null {
  return process.getuid?.() === 0 && postgresAccount() === null
    ? "PostgreSQL refuses to run as root, and there is no account postgres"
    : null;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Undefined until it is read, which starts two programs. Each suite needs it. */
let account: Account | null | undefined;

/** Returns the account that the server runs as; null for the current one. PostgreSQL refuses to run as root. */
export function postgresAccount(): Account | null {
  if (account === undefined) account = readPostgresAccount();
  return account;
}

function readPostgresAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  const [uid, gid] = [id("-u"), id("-g")];
  return uid > 0 ? { uid, gid } : null;
}

/** The folder of test clusters: in memory if there is room, since a cluster is a thousand files. */
const MEMORY = "/dev/shm";
const ROOM_BYTES = 2 ** 30;

function parentFolder(durable: boolean): string {
  if (durable || !existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > ROOM_BYTES ? MEMORY : tmpdir();
}

/** Names the folder of what is kept between runs, where `tmpdir()` is that of one run. `tools/run-tests.ts` sets it. */
export const SAVED_VARIABLE = "METER_TEST_SAVED";

/** The path of a file that is kept between runs. */
export function savedFile(name: string): string {
  return join(process.env[SAVED_VARIABLE] ?? tmpdir(), name);
}

/** Extracting a new cluster takes a tenth of the CPU time of `initdb`, which is half a second. */
const EMPTY_CLUSTER = savedFile("meter-postgres-15-empty.tar");

/** Where a cluster is. */
export interface ClusterPlace {
  /** An existing folder, which is removed at the end. If it has a cluster, that one is started. */
  readonly folder: string;
  /** Words for `initdb`. */
  readonly initWords?: readonly string[];
}

/**
 * Creates a cluster, or restores one that `save` wrote, and starts it. Unless `durable`, nothing is synced to the disk: a
 * test's data may be lost.
 */
export async function startPostgres(
  durable = false,
  from: string | null = null,
  place: ClusterPlace = { folder: mkdtempSync(join(parentFolder(durable), "meter-postgres-")) },
): Promise<PostgresServer> {
  const as = postgresAccount();
  const { folder, initWords } = place;
  const data = join(folder, "data");
  const options = { stdio: "ignore", cwd: folder, ...as } as const;
  const run = (program: string, words: readonly string[]) => {
    const { status } = spawnSync(program, words, options);
    if (status !== 0) throw new Error(`${program} failed: exit status ${status}`);
  };
  if (as !== null) spawnSync("chown", [`${as.uid}:${as.gid}`, folder]);
  if (existsSync(data)) {
    if (as !== null) spawnSync("chown", ["-R", `${as.uid}:${as.gid}`, data]);
  } else if (from !== null || (initWords === undefined && existsSync(EMPTY_CLUSTER))) {
    run("tar", ["-xf", from ?? EMPTY_CLUSTER, "-C", folder]);
  } else {
    const settings = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"];
    run(`${PROGRAMS}/initdb`, ["-D", data, ...settings, ...(initWords ?? ["--no-sync"])]);
    if (initWords === undefined) saveCluster(folder, EMPTY_CLUSTER);
  }
  const port = await freePort();
  let server: ChildProcess | null = null;
  // For a process that ends without `stop`: its hooks do not run if a name pattern leaves out some of its suites.
  const kill = () => {
    if (server !== null) spawnSync(`${PROGRAMS}/pg_ctl`, ["stop", "-m", "immediate", "-D", data], options);
    rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", kill);
  exitOnSignals();

  async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const parameters = [
      `port=${port}`,
      "listen_addresses=127.0.0.1",
      `unix_socket_directories=${folder}`,
      "max_connections=200",
      "shared_buffers=64MB",
      ...(durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]),
    ];
    const launch = () =>
      spawn(`${PROGRAMS}/postgres`, ["-D", data, ...parameters.flatMap((each) => ["-c", each])], {
        ...options,
        env: { ...process.env, ...env },
      });
    server = launch();
    for (let attempt = 0; attempt < 1_200; attempt += 1) {
      // It exits if processes of a killed server still use the folder's memory. They are about to end.
      if (server.exitCode !== null) server = launch();
      if (isReady(data, server.pid)) {
        // Does not keep this process running.
        server.unref();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error("PostgreSQL did not start within thirty seconds");
  }
  async function end(signal: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void> {
    const running = server;
    if (running === null) return;
    server = null;
    const exited = new Promise<void>((resolve) => running.once("exit", () => resolve()));
    // Waits for it even if nothing else keeps this process running.
    running.ref();
    running.kill(signal);
    await exited;
  }

  await start();
  return {
    port,
    folder: data,
    url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    crash: () => end("SIGQUIT"),
    kill: () => end("SIGKILL"),
    restart: start,
    save: async (path) => {
      await end("SIGINT");
      saveCluster(folder, path);
      await start();
    },
    stop: async () => {
      await end("SIGINT");
      process.removeListener("exit", kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Lets the signals that would end this process at once run its hooks first. */
function exitOnSignals(): void {
  for (const [signal, status] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)
    if (process.listenerCount(signal) === 0) process.once(signal, () => process.exit(status));
}

/** Writes a cluster that is not running to a file, all at once: other processes read it. */
function saveCluster(folder: string, path: string): void {
  const whole = `${path}.${randomUUID()}`;
  const { status } = spawnSync("tar", ["-cf", whole, "-C", folder, "data"]);
  if (status !== 0) throw new Error(`tar failed: exit status ${status}`);
  renameSync(whole, path);
}

/** Whether a server accepts connections, by the line that `pg_ctl` reads. `pg_isready` would be a process for each look. */
function isReady(data: string, pid: number | undefined): boolean {
  try {
    const lines = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
    return lines[0] === String(pid) && lines[7]?.trim() === "ready";
  } catch {
    return false;
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
