import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe } from "node:test";
import { type Dialect, sql } from "kysely";
import { systemClock } from "../../../adapters/clock/mod.ts";
import {
  openPgliteInMemory,
  openPostgres,
  type PostgresServerOptions,
} from "../../../adapters/postgres/mod.ts";
import { CLOUD_MIGRATIONS, type CloudDatabase, migrateCloud, openCloudDatabase } from "../../../cloud/mod.ts";
import type { PostgresDatabase } from "../../../core/ports/postgres.ts";
import { missingPostgres, type PostgresServer, startPostgres } from "./postgres-server.ts";

/** A migrated, empty database of its own. */
export interface TestDatabase {
  /** As the role that owns the tables: for setting up and looking behind the scenes. */
  readonly db: CloudDatabase;
  readonly database: PostgresDatabase<Dialect>;
  /** Null on PGlite. */
  readonly url: string | null;
  close(): Promise<void>;
}

/** What a suite gets: a way to open databases, on one engine. */
export interface Engine {
  readonly name: "pglite" | "postgres15";
  open(options?: PostgresServerOptions): Promise<TestDatabase>;
  /** Null on PGlite. */
  readonly server: () => PostgresServer | null;
}

/** Runs a suite on PGlite and on PostgreSQL 15; where the latter can't be had, says so and why. */
export function describeOnEngines(name: string, suite: (engine: Engine) => void): void {
  describe(`${name}, on PGlite`, () => suite(pgliteEngine()));
  describeOnPostgres(name, suite);
}

/** Runs a suite on PostgreSQL 15 alone: what needs several connections at once. */
export function describeOnPostgres(name: string, suite: (engine: Engine) => void): void {
  const missing = missingPostgres();
  if (missing !== null) {
    // In the name, since Deno shows no reason for a skip.
    describe(`${name}, on PostgreSQL 15: NOT TESTED: ${missing}`, { skip: true }, () => {});
    return;
  }
  suitesLeft += 1;
  describe(`${name}, on PostgreSQL 15`, () => {
    let server: PostgresServer | null = null;
    before(async () => {
      server = await (shared ??= startMigrated());
    });
    after(async () => {
      suitesLeft -= 1;
      if (suitesLeft === 0) await server?.stop();
    });
    suite({
      name: "postgres15",
      server: () => server,
      open: async (options) => {
        if (server === null) throw new Error("the server is not started");
        const admin = await connect(server.url("postgres"));
        opened += 1;
        const name = `cloud_${opened}`;
        await sql.raw(`create database ${name}`).execute(admin.db);
        await admin.close();
        return await connect(server.url(name), options);
      },
    });
  });
}

/** One server serves all suites of a file; the last one stops it. */
let shared: Promise<PostgresServer> | null = null;
let suitesLeft = 0;
let opened = 0;

/** A server whose new databases are migrated. Kept between runs, by what it holds. */
async function startMigrated(): Promise<PostgresServer> {
  const path = join(tmpdir(), `meter-postgres-15-${schemaHash()}.tar`);
  if (existsSync(path)) return await startPostgres(false, path);
  const server = await startPostgres();
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

async function connect(url: string, options: PostgresServerOptions = {}): Promise<TestDatabase> {
  const database = openPostgres(url, systemClock, options);
  const db = openCloudDatabase(database);
  return { db, database, url, close: () => db.destroy() };
}

/** PGlite alone, for what no engine changes. */
export function pgliteEngine(): Engine {
  return {
    name: "pglite",
    server: () => null,
    open: async () => {
      const database = openPgliteInMemory(await migratedSnapshot());
      const db = openCloudDatabase(database);
      return { db, database, url: null, close: () => db.destroy() };
    },
  };
}

let snapshot: Promise<Blob> | null = null;

/** A migrated PGlite, to be loaded: a tenth of the time that a new one takes. Kept between runs, by what it holds. */
function migratedSnapshot(): Promise<Blob> {
  return (snapshot ??= (async () => {
    const { version } = JSON.parse(
      readFileSync(
        new URL("../../../node_modules/@electric-sql/pglite/package.json", import.meta.url),
        "utf8",
      ),
    );
    const path = join(tmpdir(), `meter-pglite-${version}-${schemaHash()}.tar`);
    if (!existsSync(path)) {
      const database = openPgliteInMemory();
      const db = openCloudDatabase(database);
      await migrateCloud(db, 0);
      const made = `${path}.${process.pid}`;
      writeFileSync(made, new Uint8Array(await (await database.dump()).arrayBuffer()), { mode: 0o600 });
      await db.destroy();
      renameSync(made, path);
    }
    return new Blob([readFileSync(path)]);
  })());
}
