import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/time.ts";
import type { Migration } from "./migration.ts";
import { firstSchema } from "./migrations/0001-first-schema.ts";
import { accounts } from "./migrations/0002-accounts.ts";
import { promptViewTickets } from "./migrations/0003-prompt-view-tickets.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";

/** Every step, in order. A later one is added at the end. */
export const CLOUD_MIGRATIONS: readonly Migration[] = [firstSchema, accounts, promptViewTickets];

/** Any number will do, as long as it stays the same: "mtr" and the schema. */
const MIGRATION_LOCK = 7_303_014;

/**
 * Brings the database to this code's schema and returns the names of the steps that were run. All of them or none, in
 * one transaction, behind a lock that makes other instances wait and then find the work done. Steps of a newer version
 * are left alone: its schema serves this code too.
 *
 * Run it as the role that owns the tables. Row-level security is not passed over silently: a step that meant to fill rows
 * in would fail instead of filling none.
 */
export async function migrateCloud(
  db: CloudDatabase,
  now: Millis,
  migrations: readonly Migration[] = CLOUD_MIGRATIONS,
): Promise<readonly string[]> {
  return await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK}::bigint)`.execute(trx);
    await sql`set local statement_timeout = 0`.execute(trx);
    await sql`set local row_security = off`.execute(trx);
    await sql`create table if not exists cloud_migrations (
      name text primary key, applied_at timestamptz(3) not null
    )`.execute(trx);
    const applied = new Set(await appliedNames(trx));
    const missing = migrations.filter(({ name }) => !applied.has(name));
    for (const { name, statements } of missing) {
      for (const statement of statements) await sql.raw(statement).execute(trx);
      await trx.insertInto("cloud_migrations").values({ name, applied_at: now }).execute();
    }
    // For a server that logs in with less than its owner's rights: what `isMigrated()` reads.
    if (missing.length > 0) await sql`grant select on cloud_migrations to public`.execute(trx);
    return missing.map(({ name }) => name);
  });
}

/** Whether every step has been run, by whoever did; what a server asks before it takes requests. */
export async function isMigrated(
  db: CloudDatabase,
  migrations: readonly Migration[] = CLOUD_MIGRATIONS,
): Promise<boolean> {
  const applied = new Set(await db.transaction().execute(appliedNames));
  return migrations.every(({ name }) => applied.has(name));
}

async function appliedNames(trx: Transaction<CloudSchema>): Promise<string[]> {
  const rows = await trx.selectFrom("cloud_migrations").select("name").execute();
  return rows.map(({ name }) => name);
}
