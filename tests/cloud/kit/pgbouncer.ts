import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { freePort, postgresAccount } from "./postgres-server.ts";

const PROGRAM = "/usr/sbin/pgbouncer";

/** A PgBouncer in transaction mode. */
export interface PgBouncer {
  /** `postgres://…/<database>`, as the superuser, without a password. */
  url(database: string): string;
  stop(): Promise<void>;
}

/** Returns why no PgBouncer can run here; null if one can. */
export function missingPgBouncer(): string | null {
  return existsSync(PROGRAM) ? null : `PgBouncer is not installed (${PROGRAM}; Debian's package pgbouncer)`;
}

/** Starts a PgBouncer in front of a server, with this number of connections to each database. */
export async function startPgBouncer(serverPort: number, poolSize: number): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), "meter-pgbouncer-"));
  const port = await freePort();
  const config = [
    "[databases]",
    `* = host=127.0.0.1 port=${serverPort}`,
    "[pgbouncer]",
    ...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir ="],
    ...["auth_type = any", "pool_mode = transaction", "max_client_conn = 500"],
    ...[`default_pool_size = ${poolSize}`, "query_wait_timeout = 10", "server_login_retry = 1"],
  ];
  const path = join(folder, "pgbouncer.ini");
  // With `auth_type = any`, the login is that of the database's line.
  config[1] += " user=postgres";
  writeFileSync(path, `${config.join("\n")}\n`);
  const as = postgresAccount();
  if (as !== null) spawnSync("chown", ["-R", `${as.uid}:${as.gid}`, folder]);
  const child: ChildProcess = spawn(PROGRAM, [path], { stdio: "ignore", cwd: folder, ...as });
  const kill = () => child.kill("SIGKILL");
  process.on("exit", kill);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await untilListening(port, child);
  child.unref();
  return {
    url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    async stop() {
      child.ref();
      child.kill("SIGKILL");
      await exited;
      process.removeListener("exit", kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 1_200 && child.exitCode === null; attempt += 1) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("PgBouncer did not start");
}
