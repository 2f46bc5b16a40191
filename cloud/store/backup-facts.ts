import { sql, type Transaction } from "kysely";
import { CHAIN_NAMES, type ChainName } from "../../core/privacy/ledger/chain.ts";
import type { ChainHead, SavedHeads } from "../../core/privacy/ledger/compare-heads.ts";
import { readTotalsIn, showAllRows, type TableTotals } from "./distribute.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { Restore } from "./restores.ts";
import type { CloudSchema } from "./schema.ts";
import { TABLE_PLACES } from "./table-places.ts";

/** What a backup's manifest says about the database. */
export interface BackupFacts {
  /** The rows and sums of each table whose rows a backup has. */
  readonly totals: Readonly<Record<string, TableTotals>>;
  /** The heads of the ledgers, by workspace. */
  readonly heads: Readonly<Record<string, SavedHeads>>;
  /** The ids of the keys that bodies are sealed with. The keys are not in the database. */
  readonly bodyKeys: readonly string[];
  /** The roles that own something in the database. They must exist where it is restored. */
  readonly owners: readonly string[];
}

/** The tables whose rows a backup has. The states of rate limits end with the server. */
const BACKED_UP_TABLES: readonly string[] = Object.keys(TABLE_PLACES)
  .filter((table) => table !== "limit_states")
  .sort();

/** The tables with the head of each chain. */
const HEADS = {
  prompt_views: "prompt_view_heads",
  audit_events: "audit_event_heads",
  costs: "cost_seal_heads",
} as const satisfies Record<ChainName, string>;

/** Reads the facts as the owner of all rows, in a transaction with one snapshot. */
export async function readBackupFacts(trx: Transaction<CloudSchema>): Promise<BackupFacts> {
  await showAllRows(trx);
  return {
    totals: await readTotalsOf(trx, BACKED_UP_TABLES),
    heads: await readHeads(trx),
    bodyKeys: (await readKeptKeys(trx)).sort(),
    owners: await readOwners(trx),
  };
}

/** Reads the rows and sums of tables. */
export async function readTotalsOf(
  trx: Transaction<CloudSchema>,
  tables: readonly string[],
): Promise<Readonly<Record<string, TableTotals>>> {
  const totals: Record<string, TableTotals> = {};
  for (const table of tables) totals[table] = await readTotalsIn(trx, table);
  return totals;
}

/** Returns the ids of the body keys that were not destroyed, as the owner of all rows. */
async function readKeptKeys(trx: Transaction<CloudSchema>): Promise<string[]> {
  const rows = await trx.selectFrom("body_keys").select("key_id").where("destroyed_at", "is", null).execute();
  return rows.map(({ key_id }) => key_id);
}

async function readHeads(trx: Transaction<CloudSchema>): Promise<Record<string, SavedHeads>> {
  const empty: ChainHead = { seq: 0, hash: "0".repeat(64) };
  const heads: Record<string, Record<ChainName, ChainHead>> = {};
  for (const { workspace_id } of await trx.selectFrom("workspaces").select("workspace_id").execute()) {
    heads[workspace_id] = { prompt_views: empty, audit_events: empty, costs: empty };
  }
  for (const name of CHAIN_NAMES) {
    for (const row of await trx.selectFrom(HEADS[name]).select(["workspace_id", "seq", "hash"]).execute()) {
      const own = heads[row.workspace_id];
      if (own !== undefined) own[name] = { seq: Number(row.seq), hash: row.hash };
    }
  }
  return heads;
}

async function readOwners(trx: Transaction<CloudSchema>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct pg_get_userbyid(owner)::text as name from (
      select relowner as owner, relnamespace as place from pg_class
      union all select proowner, pronamespace from pg_proc
      union all select nspowner, oid from pg_namespace
    ) as owned
    where place not in (select oid from pg_namespace where nspname ~ '^(pg_|information_schema$)')
    order by 1`.execute(trx);
  return rows.map(({ name }) => name);
}

/** Returns which of the roles the server does not have. */
export async function missingRoles(db: CloudDatabase, roles: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select rolname::text as name from pg_roles`.execute(db);
  const known = new Set(rows.map(({ name }) => name));
  return roles.filter((role) => !known.has(role));
}

/** Whether the database has no tables of its own. */
export async function isEmpty(db: CloudDatabase): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname !~ '^(pg_|information_schema$)' limit 1`.execute(db);
  return rows.length === 0;
}

/** Ends all sessions of people. Run it as the role that owns the tables. */
export async function endSessions(db: CloudDatabase): Promise<void> {
  await sql`delete from accounts.sessions`.execute(db);
}

/** Records that the database was restored. Run it as the role that owns the tables. */
export async function addRestore(
  db: CloudDatabase,
  { generation, backupAt, restoredAt }: Restore,
): Promise<void> {
  await db
    .insertInto("restores")
    .values({ generation, backup_at: backupAt, restored_at: restoredAt })
    .execute();
}
