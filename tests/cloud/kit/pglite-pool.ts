import { after } from "node:test";
import { type DatabaseConnection, type Dialect, type Driver, Kysely, sql } from "kysely";
import { openPgliteInMemory } from "../../../adapters/postgres/pglite.ts";
import type { PostgresDatabase } from "../../../core/ports/postgres.ts";

/** A database in memory for one suite. */
export interface Lease {
  readonly database: PostgresDatabase<Dialect>;
  /** Returns the database to the pool. Its `Kysely` must be destroyed before. */
  close(): Promise<void>;
}

/** Lends databases that are opened from snapshots. */
export interface PglitePool {
  /** Opens a database, or empties one that an earlier suite returned: a tenth of the CPU time. */
  lend(snapshot: Blob): Promise<Lease>;
}

interface PooledPglite {
  readonly snapshot: Blob;
  readonly database: PostgresDatabase<Dialect>;
  /** Destroying it ends the database. */
  readonly admin: Kysely<unknown>;
  /** The schema and the rows of the tables that are not empty, as they were when it was opened. */
  readonly original: string;
}

/** The most databases that wait for a suite. More are rarely open at the same time. */
const MAX_IDLE = 3;

/**
 * Creates a pool for the suites of this process. A database whose schema, roles or settings a suite has changed is not
 * used again. Call this while the tests are declared: the databases are closed after the last test.
 */
export function createPglitePool(): PglitePool {
  const idle: PooledPglite[] = [];
  const open = new Set<PooledPglite>();
  const close = async (pooled: PooledPglite) => {
    open.delete(pooled);
    await pooled.admin.destroy();
  };
  // An open PGlite keeps the process running, also one whose suite did not return it. Where `npm test` runs several
  // files in this process, the hook belongs to the first of them, and the others use their own databases.
  after(async () => {
    idle.length = 0;
    for (const pooled of open) await close(pooled);
  });
  return {
    async lend(snapshot) {
      const at = idle.findIndex((each) => each.snapshot === snapshot);
      const pooled = at === -1 ? await openSnapshot(snapshot) : (idle.splice(at, 1)[0] as PooledPglite);
      open.add(pooled);
      const lease = leaseOf(pooled.database);
      let isClosed = false;
      return {
        database: lease.database,
        async close() {
          if (isClosed) return;
          isClosed = true;
          if (lease.isReturned() && (await reset(pooled))) idle.push(pooled);
          else await close(pooled);
          if (idle.length > MAX_IDLE) await close(idle.shift() as PooledPglite);
        },
      };
    },
  };
}

async function openSnapshot(snapshot: Blob): Promise<PooledPglite> {
  const database = openPgliteInMemory(snapshot);
  const admin = new Kysely<unknown>({ dialect: database.dialect });
  return { snapshot, database, admin, original: await describeState(admin) };
}

/** The database with drivers that leave it open, and whether all of their connections were released. */
function leaseOf(database: PostgresDatabase<Dialect>) {
  const held = new Set<DatabaseConnection>();
  const lend = (driver: Driver): Driver => ({
    ...driver,
    async acquireConnection(options) {
      const connection = await driver.acquireConnection(options);
      held.add(connection);
      return connection;
    },
    async releaseConnection(connection, options) {
      held.delete(connection);
      await driver.releaseConnection(connection, options);
    },
    destroy: async () => {},
  });
  const dialect = { ...database.dialect, createDriver: () => lend(database.dialect.createDriver()) };
  return { database: { ...database, dialect }, isReturned: () => held.size === 0 };
}

/** Empties the tables. Returns false if anything else differs from the original, so that the database is not used again. */
async function reset({ admin, original }: PooledPglite): Promise<boolean> {
  try {
    // PGlite's `reset` keeps the user.
    await sql`set session authorization postgres`.execute(admin);
    await sql`discard all`.execute(admin);
    await sql
      .raw(`do $$ begin execute (select 'truncate ' || string_agg(oid::regclass::text, ',') || ' restart identity'
        from pg_class where ${IS_OWN_TABLE} and relname <> '${MIGRATIONS}'); end $$`)
      .execute(admin);
    return (await describeState(admin)) === original;
  } catch {
    return false;
  }
}

/** The only table with rows in a migrated database. */
const MIGRATIONS = "cloud_migrations";
const IS_OWN_TABLE =
  "relkind in ('r', 'p') and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)";

/** What a change of the schema, of a role or of a setting adds to, updates or deletes from. */
const CATALOGS = [
  ...["attrdef", "attribute", "auth_members", "authid", "constraint", "database", "db_role_setting"],
  ...["default_acl", "extension", "index", "language", "namespace", "operator", "policy", "proc", "rewrite"],
  ...["sequence", "trigger", "type"],
].map((name) => `pg_${name}`);

/**
 * Describes the schema, the roles, the settings and the migrations. A row's `xmin` is the transaction that wrote it, so that
 * each change of a catalogue shows in the newest or in the number of rows.
 */
export async function describeState(db: Kysely<unknown>): Promise<string> {
  const versions = CATALOGS.map(
    (name) =>
      `select '${name}' as name, concat(count(*), ' ', max(xmin::text::bigint)) as state from ${name}`,
  );
  // Emptying a table updates its row in `pg_class`.
  const tables = `select 'pg_class', string_agg(concat_ws(' ', oid, relname, relkind, relowner, relacl, reloptions,
    relrowsecurity, relforcerowsecurity), ',' order by oid) from pg_class`;
  const migrations = `select 'migrations', string_agg(name, ',' order by name) from ${MIGRATIONS}`;
  const { rows } = await sql.raw([...versions, tables, migrations].join(" union all ")).execute(db);
  return JSON.stringify(rows);
}
