import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe } from "node:test";
import { type Dialect, sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPgliteInMemory } from "../../../adapters/postgres/pglite.ts";
import { openPostgres, type PostgresServerOptions } from "../../../adapters/postgres/postgres-server.ts";
import { distributeCloud } from "../../../cloud/store/distribute.ts";
import { CLOUD_MIGRATIONS, migrateCloud } from "../../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import type { PostgresDatabase } from "../../../core/ports/postgres.ts";
import { createClusterDatabase, dropClusterDatabase } from "./citus-cluster.ts";
import { createPglitePool, type Lease, type PglitePool } from "./pglite-pool.ts";
import { missingPostgres, type PostgresServer, savedFile, startPostgres } from "./postgres-server.ts";
import { IS_ONLY_POSTGRES, recordingDialect } from "./recorded-statements.ts";

/** A migrated, empty database. */
export interface TestDatabase {
  /** A connection as the role that owns the tables, for setting up and inspecting. */
  readonly db: CloudDatabase;
  /** The same, where the schema can be changed: on a cluster, a connection to the coordinator. */
  readonly owner: CloudDatabase;
  readonly database: PostgresDatabase<Dialect>;
  /** Null on PGlite. */
  readonly url: string | null;
  close(): Promise<void>;
}

/** The argument of a suite: opens databases on one engine. */
export interface Engine {
  readonly name: "pglite" | "postgres15" | "citus";
  open(options?: PostgresServerOptions): Promise<TestDatabase>;
  /** Opens a database that is not migrated. */
  openEmpty(): Promise<TestDatabase>;
  /** Null on PGlite. */
  readonly server: () => SuiteServer | null;
}

/** The server that a suite runs on. */
type SuiteServer = Pick<PostgresServer, "url" | "stop"> & {
  /** Null for a server that another process started. */
  readonly folder: string | null;
};

/** `ownServer`: for a suite that changes what belongs to the whole server, such as roles. */
interface EngineOptions {
  ownServer?: boolean;
}

/**
 * Runs a suite on PGlite and on PostgreSQL 15; if the latter is not available, reports the reason. Also on a cluster, if
 * `METER_TEST_CITUS_URL` names one.
 */
export function describeOnEngines(
  name: string,
  suite: (engine: Engine) => void,
  options: EngineOptions = {},
): void {
  if (!IS_ONLY_POSTGRES) {
    pool ??= createPglitePool();
    describe(`${name}, on PGlite`, () => suite(pgliteEngine()));
  }
  describeOnPostgres(name, suite, options);
}

/**
 * Whether what runs alike on both engines runs on PostgreSQL 15 alone: not where that is missing, on Deno, or if
 * `METER_PROPERTY_RUNS` is set, as in `npm run nightly`.
 */
const isOneEngineEnough = (): boolean =>
  process.env.METER_PROPERTY_RUNS === undefined && !("Deno" in globalThis) && missingPostgres() === null;

/**
 * Runs a suite that is not about the difference of the engines on PostgreSQL 15, or on both engines unless `isOneEngineEnough()`.
 * `npm run test:deno` runs these suites on both.
 */
export function describeOnOneEngine(
  name: string,
  suite: (engine: Engine) => void,
  options: EngineOptions = {},
): void {
  if (isOneEngineEnough()) describeOnPostgres(name, suite, options);
  else describeOnEngines(name, suite, options);
}

/** Runs a suite on PostgreSQL 15 and on a cluster only, because it needs several connections at once. */
export function describeOnPostgres(
  name: string,
  suite: (engine: Engine) => void,
  { ownServer = false }: EngineOptions = {},
): void {
  // A suite that changes a server of its own has no place on a shared cluster.
  if (CITUS_URL !== null && !ownServer) {
    describe(`${name}, on Citus`, () => suite(citusEngine(CITUS_URL)));
  }
  const missing = missingPostgres();
  if (missing !== null) {
    // The reason is in the name, since Deno shows no reason for a skip.
    describe(`${name}, on PostgreSQL 15: NOT TESTED: ${missing}`, { skip: true }, () => {});
    return;
  }
  const servers = ownServer ? ownServers : sharedServers;
  servers.suitesLeft += 1;
  describe(`${name}, on PostgreSQL 15`, () => {
    let server: SuiteServer | null = null;
    before(async () => {
      server = await (servers.started ??= ownServer ? startMigrated() : takeRunningServer());
    });
    after(async () => {
      servers.suitesLeft -= 1;
      if (servers.suitesLeft === 0) await server?.stop();
    });
    const openCopy = async (template: string, options?: PostgresServerOptions) => {
      if (server === null) throw new Error("the server is not started");
      return await openNew(server, template, options);
    };
    suite({
      name: "postgres15",
      server: () => server,
      open: (options) => openCopy("template1", options),
      openEmpty: () => openCopy("template0"),
    });
  });
}

/** Opens a new database that is a copy of the template. */
async function openNew(
  server: SuiteServer,
  template: string,
  options?: PostgresServerOptions,
): Promise<TestDatabase> {
  const name = newDatabaseName();
  const admin = await connect(server.url("postgres"));
  // Half the CPU time of the default, which also writes each page to the log.
  await sql.raw(`create database ${name} template ${template} strategy file_copy`).execute(admin.db);
  const database = await connect(server.url(name), options);
  return {
    ...database,
    close: async () => {
      await database.close();
      // Clusters are in memory. Dropped without `force`, since a connection may still be closing; the database
      // then stays.
      await sql
        .raw(`drop database ${name}`)
        .execute(admin.db)
        .catch(() => {});
      await admin.close();
    },
  };
}

/** The coordinator of a cluster, as a superuser, with the extension and its workers in that database; null for none. */
export const CITUS_URL: string | null = process.env.METER_TEST_CITUS_URL ?? null;

/** The node that the suites connect to, as `host:port`; null for the coordinator. */
export const CITUS_NODE: string | null = process.env.METER_TEST_CITUS_NODE ?? null;

function toNode(url: string): string {
  const node = new URL(url);
  if (CITUS_NODE !== null) node.host = CITUS_NODE;
  return node.href;
}

/** Opens databases on a cluster, each distributed. The nodes accept connections of the URL's user and of the roles. */
function citusEngine(url: string): Engine {
  return {
    name: "citus",
    server: () => null,
    openEmpty: async () => {
      const name = newDatabaseName();
      const database = await connect(await createClusterDatabase(url, name));
      const close = async () => {
        await database.close();
        await dropClusterDatabase(url, name).catch(() => {});
      };
      return { ...database, close };
    },
    open: async (options) => {
      const name = newDatabaseName();
      const made = await createClusterDatabase(url, name);
      const owner = await connect(made);
      await migrateCloud(owner.db, 0);
      const outcome = await distributeCloud(owner.db);
      await owner.close();
      if (outcome.kind !== "distributed") throw new Error(`${url} is no cluster: ${outcome.kind}`);
      // Settings of the database apply to connections that are made after it was distributed.
      const database = await connect(toNode(made), options);
      const { db, close: closeOwner } = await connect(made);
      const close = async () => {
        await database.close();
        await closeOwner();
        await dropClusterDatabase(url, name).catch(() => {});
      };
      return { ...database, owner: db, close };
    },
  };
}

/** Servers of the suites in this process; the last suite stops its server. */
interface Servers {
  started: Promise<SuiteServer> | null;
  suitesLeft: number;
}
const sharedServers: Servers = { started: null, suitesLeft: 0 };
const ownServers: Servers = { started: null, suitesLeft: 0 };

/** The port of a server that `startMigrated` started for many processes; `tools/run-tests.ts` sets it. */
const SERVER_PORT = "METER_TEST_POSTGRES_PORT";

/** A name that no other database of the server has. */
export function newDatabaseName(): string {
  return `cloud_${randomUUID().replaceAll("-", "")}`;
}

/** Returns the server of all test processes, or starts one for this process if there is none. */
async function takeRunningServer(): Promise<SuiteServer> {
  const port = process.env[SERVER_PORT];
  if (port === undefined) return await startMigrated();
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  return { url, stop: async () => {}, folder: null };
}

/** Starts a server whose `template1` and new databases are migrated. Its files are kept between runs, by the schema. */
export async function startMigrated(durable = false): Promise<PostgresServer> {
  const path = savedFile(`meter-postgres-15-${schemaHash()}.tar`);
  if (existsSync(path)) return await startPostgres(durable, path);
  const server = await startPostgres(durable);
  // New databases are copies of this one.
  const template = await connect(server.url("template1"));
  await migrateCloud(template.db, 0);
  await template.close();
  await server.save(path);
  return server;
}

function schemaHash(): string {
  return createHash("sha256").update(JSON.stringify(CLOUD_MIGRATIONS)).digest("hex").slice(0, 16);
}

/** A busy machine must not fail a suite that is not about these limits. */
const PATIENT: PostgresServerOptions = { acquireTimeoutMs: 60_000, statementTimeoutMs: 60_000 };

async function connect(url: string, options: PostgresServerOptions = {}): Promise<TestDatabase> {
  const opened = openPostgres(url, systemClock, { ...PATIENT, ...options });
  const database = { ...opened, dialect: recordingDialect(opened.dialect) };
  const db = openCloudDatabase(database);
  return { db, owner: db, database, url, close: () => db.destroy() };
}

/** Null in a process without a suite that uses it. */
let pool: PglitePool | null = null;

/** Opens a PGlite that is `snapshot`, for one suite. Destroy its `Kysely` before it is closed. */
export async function openPglite(snapshot: Blob): Promise<Lease> {
  if (pool !== null) return await pool.lend(snapshot);
  return { database: openPgliteInMemory(snapshot), close: async () => {} };
}

/** Runs a suite on PGlite only, because the engine does not matter. */
export function pgliteEngine(): Engine {
  return {
    name: "pglite",
    server: () => null,
    openEmpty: async () => {
      const database = openPgliteInMemory();
      const db = openCloudDatabase(database);
      return { db, owner: db, database, url: null, close: () => db.destroy() };
    },
    open: async () => {
      const { database, close } = await openPglite(await migratedSnapshot());
      const db = openCloudDatabase(database);
      const closeBoth = async () => {
        await db.destroy();
        await close();
      };
      return { db, owner: db, database, url: null, close: closeBoth };
    },
  };
}

/** Runs a suite of pages on PGlite, or on a cluster if `METER_TEST_CITUS_URL` names one. */
export function pagesEngine(): Engine {
  return CITUS_URL === null ? pgliteEngine() : citusEngine(CITUS_URL);
}

const snapshots = new Map<string, Promise<Blob>>();

/**
 * Returns a snapshot of a migrated PGlite. Loading it takes a tenth of the time of a new one. It is kept between runs,
 * by its schema.
 */
export function migratedSnapshot(): Promise<Blob> {
  return savedSnapshot("migrated", (db) => migrateCloud(db, 0));
}

/** Writes the folder that `openPgliteFolder` leaves after the migrations. */
export async function writeMigratedFolder(folder: string): Promise<void> {
  const snapshot = await migratedSnapshot();
  const data = join(folder, "data");
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const { status } = spawnSync("tar", ["-xf", "-", "-C", data], {
    input: new Uint8Array(await snapshot.arrayBuffer()),
  });
  if (status !== 0) throw new Error(`tar failed: exit status ${status}`);
}

/**
 * Returns a snapshot of a PGlite that `prepare` filled. It is kept between runs, by its name and the cloud's
 * migrations.
 */
export function savedSnapshot(name: string, prepare: (db: CloudDatabase) => Promise<unknown>): Promise<Blob> {
  const found = snapshots.get(name);
  if (found !== undefined) return found;
  const made = readOrMakeSnapshot(name, prepare);
  snapshots.set(name, made);
  return made;
}

/** The files of an unused database are a third of a snapshot, and so of the time to load it. */
async function dropTemplate(db: CloudDatabase, name: string): Promise<void> {
  await sql`update pg_database set datistemplate = false where datname = ${name}`.execute(db);
  await sql.raw(`drop database ${name}`).execute(db);
}

async function readOrMakeSnapshot(
  name: string,
  prepare: (db: CloudDatabase) => Promise<unknown>,
): Promise<Blob> {
  const { version } = JSON.parse(
    readFileSync(new URL("../../../node_modules/@electric-sql/pglite/package.json", import.meta.url), "utf8"),
  );
  const path = savedFile(`meter-pglite-${version}-${schemaHash()}-only-${name}.tar`);
  if (!existsSync(path)) {
    const database = openPgliteInMemory();
    const db = openCloudDatabase(database);
    await prepare(db);
    // The owner of the tables, which `prepare` may have set, can't drop a database.
    await sql`set session authorization postgres`.execute(db);
    for (const name of ["template0", "template1"]) await dropTemplate(db, name);
    const made = `${path}.${randomUUID()}`;
    writeFileSync(made, new Uint8Array(await (await database.dump()).arrayBuffer()), { mode: 0o600 });
    await db.destroy();
    renameSync(made, path);
  }
  return new Blob([readFileSync(path)]);
}
