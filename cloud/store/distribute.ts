import { sql, type Transaction } from "kysely";
import { hasTable, isOnWorker, WorkerError } from "./cluster-node.ts";
import { DIRECTORY_TRIGGERS } from "./migrations/0021-directory.ts";
import type { CloudDatabase } from "./open-database.ts";
import { ROLLUP_SUMS, USAGE_SUMS } from "./rollups.ts";
import type { CloudSchema } from "./schema.ts";
import { TABLE_PLACES } from "./table-places.ts";

/** The table that all other distributed ones are placed with. */
const FIRST = "workspaces";

/** The distributed tables, in an order that foreign keys allow. */
export const DISTRIBUTED_TABLES: readonly string[] = Object.entries(TABLE_PLACES).flatMap(([table, place]) =>
  place === "distributed" ? [table] : [],
);

/** The tables on the coordinator. */
const COORDINATOR_TABLES: readonly string[] = Object.entries(TABLE_PLACES).flatMap(([table, place]) =>
  place === "coordinator" ? [table] : [],
);

/** The roles as which a node connects to another one. */
const ROLES = ["meter_accounts", "meter_app", "meter_lookup", "meter_purge"];

/** A cluster sends `set local` to the shards only with this. Each node may serve clients. */
const PROPAGATE = `do $do$ begin
    execute format('alter database %I set citus.propagate_set_commands = ''local''', current_database());
  end $do$`;

/** The statements that prepare a database for distribution. They can be repeated. */
const PREPARATION: readonly string[] = [
  ...ROLES.map((role) => `alter role ${role} login`),
  PROPAGATE,
  `select run_command_on_workers($workers$ ${PROPAGATE} $workers$)`,
  ...Object.entries(DIRECTORY_TRIGGERS).flatMap(([name, table]) => [
    // On a distributed table, Citus refuses `if exists` too.
    `do $do$ begin
    if exists (select from pg_trigger where tgrelid = '${table}'::regclass and tgname = '${name}') then
      drop trigger ${name} on ${table};
    end if;
  end $do$`,
    `drop function if exists lookup.${name}()`,
  ]),
  // With it, a shard cannot move: logical replication refuses to write. The policies still apply to the application's roles.
  ...DISTRIBUTED_TABLES.map((table) => `alter table ${table} no force row level security`),
];

const distribution = (table: string) =>
  `select create_distributed_table('${table}', 'workspace_id', colocate_with => '${table === FIRST ? "none" : FIRST}')`;

/** A table on the coordinator that the workers do not know yet, accounts included. */
const UNKNOWN_TABLE = `select c.oid from pg_class c where c.relkind = 'r'
  and (c.relnamespace = 'accounts'::regnamespace or c.oid = any ('{${COORDINATOR_TABLES.join(",")}}'::regclass[]))
  and not exists (select from pg_dist_partition where logicalrelid = c.oid) limit 1`;

/** Makes the coordinator's tables known to the workers, so that clients may connect to any node. */
const ANNOUNCEMENT = `do $do$
  declare found oid;
  begin
    loop
      found := (${UNKNOWN_TABLE});
      exit when found is null;
      -- With those that it refers to, and that refer to it.
      perform citus_add_local_table_to_metadata(found, cascade_via_foreign_keys => true);
    end loop;
  end $do$`;

/** Removes what a distributed table held before, which stays on the coordinator otherwise. */
const truncation = (table: string) =>
  `select truncate_local_data_after_distributing_table('${table}'::regclass)`;

/** Returns the SQL that distributes a migrated database whose tables are not distributed. */
export function distributionSql(): readonly string[] {
  return [
    ...PREPARATION,
    ...DISTRIBUTED_TABLES.map(distribution),
    // References first: a table can be truncated only after those that refer to it.
    ...[...DISTRIBUTED_TABLES].reverse().map(truncation),
    ANNOUNCEMENT,
  ];
}

/** The number of rows and the sums of a table, as text. */
export type TableTotals = Readonly<Record<string, string>>;

/** What the distribution did. */
export type Distribution =
  /** The database has no Citus extension. */
  | { readonly kind: "not_citus" }
  /** Other totals after than before: nothing may be served before the reason is known. */
  | {
      readonly kind: "different";
      readonly table: string;
      readonly before: TableTotals;
      readonly after: TableTotals;
    }
  | {
      readonly kind: "distributed";
      readonly tables: readonly string[];
      readonly totals: Readonly<Record<string, TableTotals>>;
    };

/** The totals of tables before they were distributed, until their rows are removed from the coordinator: it survives an interruption. */
const SAVED_TOTALS = "distribution_totals";

/** The key of the advisory lock that one distribution holds: an arbitrary number that must not change. */
const DISTRIBUTION_LOCK = 7_303_015;

/**
 * Distributes the tables of a migrated database on Citus, those that are not distributed yet. Compares the rows and sums of each table
 * with those before, and only then removes its rows from the coordinator. Safe to repeat after an interruption. Stop the servers first.
 * Throws a `WorkerError` on a worker.
 */
export async function distributeCloud(db: CloudDatabase): Promise<Distribution> {
  if (!(await isOnCitus(db))) return { kind: "not_citus" };
  if (await isOnWorker(db)) throw new WorkerError();
  return await holdingLock(db, async (connection) => {
    await run(connection, [...PREPARATION, CREATE_SAVED_TOTALS]);
    const done = await distributedTables(connection);
    const tables = DISTRIBUTED_TABLES.filter((table) => !done.has(table));
    // An interrupted run may not have compared these.
    for (const table of DISTRIBUTED_TABLES.filter((each) => done.has(each))) {
      const different = await compare(connection, table);
      if (different !== null) return different;
    }
    for (const table of tables) {
      await saveTotals(connection, table);
      await run(connection, [distribution(table)]);
      const different = await compare(connection, table);
      if (different !== null) return different;
    }
    const saved = await readSavedTotals(connection);
    const unfinished = DISTRIBUTED_TABLES.filter((table) => saved.has(table)).reverse();
    await run(connection, [...unfinished.map(truncation), `drop table ${SAVED_TOTALS}`, ANNOUNCEMENT]);
    return { kind: "distributed", tables, totals: Object.fromEntries(saved) };
  });
}

/** Distributes tables that a migration added, if the database is distributed. Also finishes a distribution that was interrupted. */
export async function distributeNewTables(db: CloudDatabase): Promise<Distribution | null> {
  if (!(await isOnCitus(db))) return null;
  const done = await distributedTables(db);
  if (!done.has(FIRST)) return null;
  const isFinished =
    DISTRIBUTED_TABLES.every((table) => done.has(table)) &&
    !(await hasTable(db, SAVED_TOTALS)) &&
    !(await hasUnknownTables(db));
  return isFinished ? { kind: "distributed", tables: [], totals: {} } : await distributeCloud(db);
}

/**
 * Holds a lock on the connection that also distributes. If this process is killed, its statement runs on, and the next run waits for it.
 */
async function holdingLock<T>(
  db: CloudDatabase,
  work: (connection: CloudDatabase) => Promise<T>,
): Promise<T> {
  return await db.connection().execute(async (connection) => {
    await sql`set statement_timeout = 0`.execute(connection);
    await sql`select pg_advisory_lock(${DISTRIBUTION_LOCK}::bigint)`.execute(connection);
    try {
      return await work(connection);
    } finally {
      await sql`select pg_advisory_unlock(${DISTRIBUTION_LOCK}::bigint)`.execute(connection);
      await sql`reset statement_timeout`.execute(connection);
    }
  });
}

const CREATE_SAVED_TOTALS = `create table if not exists ${SAVED_TOTALS} (name text primary key, totals jsonb not null)`;

async function saveTotals(db: CloudDatabase, table: string): Promise<void> {
  const totals = JSON.stringify(await readTotals(db, table));
  await sql`insert into ${sql.table(SAVED_TOTALS)} (name, totals) values (${table}, ${totals}::text::jsonb)
    on conflict (name) do update set totals = excluded.totals`.execute(db);
}

async function readSavedTotals(db: CloudDatabase): Promise<ReadonlyMap<string, TableTotals>> {
  const { rows } = await sql<{ name: string; totals: TableTotals }>`
    select name, totals from ${sql.table(SAVED_TOTALS)}`.execute(db);
  return new Map(rows.map(({ name, totals }) => [name, totals]));
}

async function hasUnknownTables(db: CloudDatabase): Promise<boolean> {
  const { rows } = await sql.raw(UNKNOWN_TABLE).execute(db);
  return rows.length > 0;
}

/** Compares a distributed table with its totals before. Null if they are equal, or if it was distributed by an earlier version. */
async function compare(
  db: CloudDatabase,
  table: string,
): Promise<Extract<Distribution, { kind: "different" }> | null> {
  const before = (await readSavedTotals(db)).get(table);
  if (before === undefined) return null;
  const after = await readTotals(db, table);
  const isEqual = Object.entries(after).every(([name, total]) => before[name] === total);
  return isEqual ? null : { kind: "different", table, before, after };
}

/** Reads the rows and sums of every table, to compare a database with its copy. */
export async function readAllTotals(db: CloudDatabase): Promise<Readonly<Record<string, TableTotals>>> {
  const totals: Record<string, TableTotals> = {};
  for (const table of Object.keys(TABLE_PLACES).sort()) totals[table] = await readTotals(db, table);
  return totals;
}

/** Whether the tables are distributed. */
export async function isDistributed(db: CloudDatabase): Promise<boolean> {
  return (await isOnCitus(db)) && (await distributedTables(db)).has(FIRST);
}

const isOnCitus = (db: CloudDatabase): Promise<boolean> => hasTable(db, "pg_dist_partition");

async function distributedTables(db: CloudDatabase): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select logicalrelid::regclass::text as name from pg_dist_partition where partmethod = 'h'`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

/** Each statement commits on its own: a cluster refuses several of them in one transaction. */
async function run(connection: CloudDatabase, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(connection);
}

const SUMMED: Readonly<Record<string, readonly string[]>> = {
  requests: ["prompt_tokens", "completion_tokens", "cost_pico_usd"],
  usage_hourly: ROLLUP_SUMS,
  usage_daily: ROLLUP_SUMS,
  usage_branches: USAGE_SUMS,
};

/** Reads a table as its owner. Fails, instead of finding no rows, where row-level security would hide some. */
async function readTotals(db: CloudDatabase, table: string): Promise<TableTotals> {
  return await db.transaction().execute(async (trx) => {
    await showAllRows(trx);
    return await readTotalsIn(trx, table);
  });
}

/** Prepares a transaction for `readTotalsIn()`. */
export async function showAllRows(trx: Transaction<CloudSchema>): Promise<void> {
  await sql`set local row_security = off`.execute(trx);
  await sql`set local statement_timeout = 0`.execute(trx);
}

/** Reads the rows and sums of a table in a transaction that sees all rows. */
export async function readTotalsIn(trx: Transaction<CloudSchema>, table: string): Promise<TableTotals> {
  const sums = (SUMMED[table] ?? []).map((column) => `coalesce(sum(${column}), 0)::text as ${column}`);
  const { rows } = await sql<TableTotals>`
    select ${sql.raw(["count(*)::text as rows", ...sums].join(", "))} from ${sql.table(table)}`.execute(trx);
  return rows[0] ?? {};
}
