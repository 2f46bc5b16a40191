import { sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPgliteInMemory } from "../../../adapters/postgres/pglite.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { CLOUD_MIGRATIONS, migrateCloud } from "../../../cloud/store/migrate.ts";
import type { Migration } from "../../../cloud/store/migration.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { type Engine, newDatabaseName, openPglite, savedSnapshot } from "./engines.ts";
import type { Lease } from "./pglite-pool.ts";

/** A database that its owner has migrated, with real logins that are not superusers. */
interface Logins {
  /** As the login that owns the tables. */
  readonly owner: CloudDatabase;
  /** As the login that serves; the owner's if there is only one. */
  readonly server: CloudDatabase;
  close(): Promise<void>;
}

/** The setups of docs/hosting.md: one login that owns everything, or an owner and a server. */
export type LoginSetup = "one" | "two";

const SETUPS: Readonly<Record<LoginSetup, readonly string[]>> = {
  one: ["create role host login createrole"],
  two: [
    "create role meter_app nologin",
    "create role meter_lookup nologin",
    "create role meter_accounts nologin",
    "create role meter_purge nologin",
    "create role host login",
    "create role host_server login noinherit",
    "grant meter_app, meter_lookup, meter_accounts, meter_purge to host",
    "grant meter_app, meter_accounts, meter_purge to host_server",
  ],
};

/** Creates the logins of a setup and a database that its owner has migrated. On PGlite both are one session. */
export async function openAsLogins(
  engine: Engine,
  setup: LoginSetup,
  migrations: readonly Migration[] = CLOUD_MIGRATIONS,
): Promise<Logins> {
  const server = engine.server();
  const serving = setup === "one" ? "host" : "host_server";
  if (server === null) {
    const { database, close } = await openMigratedPglite(setup, migrations);
    const db = openCloudDatabase(database);
    await sql.raw(`set session authorization ${serving}`).execute(db);
    const closeBoth = async () => {
      await db.destroy();
      await close();
    };
    return { owner: db, server: db, close: closeBoth };
  }
  const admin = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
  // Roles belong to the whole server: a suite that creates logins has the option `ownServer`.
  for (const statement of SETUPS[setup]) {
    await sql
      .raw(`do $$ begin ${statement}; exception when duplicate_object then null; end $$`)
      .execute(admin);
  }
  await sql.raw(`alter role host ${setup === "one" ? "createrole" : "nocreaterole"}`).execute(admin);
  const connect = (login: string, name: string) =>
    openCloudDatabase(openPostgres(server.url(name).replace("//postgres@", `//${login}@`), systemClock));
  const create = async (template: string) => {
    const name = newDatabaseName();
    const statement = `create database ${name} owner host template ${template} strategy file_copy`;
    await sql.raw(statement).execute(admin);
    return name;
  };
  const createMigrated = async () => {
    const name = await create("template0");
    const owner = connect("host", name);
    await migrateCloud(owner, 1, migrations);
    await owner.destroy();
    return name;
  };
  // Migrations other than the cloud's own are not saved.
  const saved = migrations === CLOUD_MIGRATIONS ? templatesOf(server) : new Map<LoginSetup, string>();
  const template = saved.get(setup) ?? (await createMigrated());
  saved.set(setup, template);
  const name = await create(template);
  await admin.destroy();
  const owner = connect("host", name);
  const serverDb = setup === "one" ? owner : connect(serving, name);
  return {
    owner,
    server: serverDb,
    close: async () => {
      await owner.destroy();
      if (serverDb !== owner) await serverDb.destroy();
    },
  };
}

/** For each server, the databases that an owner has migrated, by setup. The databases of the tests are copies of them. */
const templates = new WeakMap<object, Map<LoginSetup, string>>();

function templatesOf(server: object): Map<LoginSetup, string> {
  const known = templates.get(server) ?? new Map<LoginSetup, string>();
  templates.set(server, known);
  return known;
}

async function openMigratedPglite(setup: LoginSetup, migrations: readonly Migration[]): Promise<Lease> {
  const migrate = (db: CloudDatabase) => migrateAsHost(db, setup, migrations);
  // Migrations other than the cloud's own are not saved.
  if (migrations === CLOUD_MIGRATIONS)
    return await openPglite(await savedSnapshot(`logins-${setup}`, migrate));
  const database = openPgliteInMemory();
  await migrate(openCloudDatabase(database));
  return { database, close: async () => {} };
}

/** Creates the logins of a setup on a new PGlite, and migrates it as their owner. */
async function migrateAsHost(
  db: CloudDatabase,
  setup: LoginSetup,
  migrations: readonly Migration[],
): Promise<void> {
  for (const statement of SETUPS[setup]) await sql.raw(statement).execute(db);
  await sql.raw("alter database postgres owner to host").execute(db);
  await sql.raw("set session authorization host").execute(db);
  await migrateCloud(db, 1, migrations);
}
