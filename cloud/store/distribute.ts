import { sql, type Transaction } from "kysely";
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

/** The roles as which a node connects to another one. */
const ROLES = ["meter_app", "meter_lookup", "meter_purge"];

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
    `drop trigger if exists ${name} on ${table}`,
    `drop function if exists lookup.${name}()`,
  ]),
  // With it, a shard cannot move: logical replication refuses to write. The policies still apply to the application's roles.
  ...DISTRIBUTED_TABLES.map((table) => `alter table ${table} no force row level security`),
];

const distribution = (table: string) =>
  `select create_distributed_table('${table}', 'workspace_id', colocate_with => '${table === FIRST ? "none" : FIRST}')`;

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

/**
 * Distributes the tables of a migrated database on Citus, those that are not distributed yet. Compares the rows and sums of each table
 * with those before, and only then removes its rows from the coordinator. Safe to repeat after an interruption. Stop the servers first.
 */
export async function distributeCloud(db: CloudDatabase): Promise<Distribution> {
  if (!(await isOnCitus(db))) return { kind: "not_citus" };
  await run(db, PREPARATION);
  const done = await distributedTables(db);
  const tables = DISTRIBUTED_TABLES.filter((table) => !done.has(table));
  const totals: Record<string, TableTotals> = {};
  for (const table of tables) {
    const before = await readTotals(db, table);
    await run(db, [distribution(table)]);
    const after = await readTotals(db, table);
    if (JSON.stringify(before) !== JSON.stringify(after)) return { kind: "different", table, before, after };
    totals[table] = after;
  }
  await run(db, [...tables].reverse().map(truncation));
  return { kind: "distributed", tables, totals };
}

/** Distributes tables that a migration added, if the database is distributed. */
export async function distributeNewTables(db: CloudDatabase): Promise<Distribution | null> {
  if (!(await isOnCitus(db)) || !(await distributedTables(db)).has(FIRST)) return null;
  return await distributeCloud(db);
}

/** Reads the rows and sums of every table, to compare a database with its copy. */
export async function readAllTotals(db: CloudDatabase): Promise<Readonly<Record<string, TableTotals>>> {
  const totals: Record<string, TableTotals> = {};
  for (const table of Object.keys(TABLE_PLACES).sort()) totals[table] = await readTotals(db, table);
  return totals;
}

async function isOnCitus(db: CloudDatabase): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select to_regclass('pg_dist_partition') is not null as found`.execute(db);
  return rows[0]?.found === true;
}

async function distributedTables(db: CloudDatabase): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select logicalrelid::regclass::text as name from pg_dist_partition where partmethod = 'h'`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

/** Each statement commits on its own: a cluster refuses several of them in one transaction. */
async function run(db: CloudDatabase, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    await db.connection().execute(async (connection) => {
      await sql`set statement_timeout = 0`.execute(connection);
      try {
        await sql.raw(statement).execute(connection);
      } finally {
        await sql`reset statement_timeout`.execute(connection);
      }
    });
  }
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
