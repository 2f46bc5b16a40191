import { sql } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { CloudDatabase } from "./open-database.ts";

/** The result of a compaction. `logEnded` is false unless the role is a superuser or a member of `pg_checkpoint`. */
export interface Compaction {
  readonly tables: number;
  readonly logEnded: boolean;
}

/**
 * Rewrites all tables, so that their files contain nothing of deleted rows, and then ends the current segment of the
 * write-ahead log. Each table is locked while it is rewritten: use it on a small database or at a quiet time. Run it as the
 * role that owns the tables.
 */
export async function compactDatabase(db: CloudDatabase): Promise<Compaction> {
  const { rows } = await sql<{ name: string }>`
    select format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname in (current_schema(), 'accounts')
      and pg_has_role(current_user, c.relowner, 'USAGE')
    order by 1`.execute(db);
  for (const { name } of rows) await sql.raw(`vacuum (full, analyze) ${name}`).execute(db);
  // The statistics hold samples of values, and those of before are still in its files. Only the database's owner may rewrite it; for
  // others, PostgreSQL skips it with a warning.
  await sql.raw("vacuum (full) pg_catalog.pg_statistic").execute(db);
  return { tables: rows.length, logEnded: await endLog(db) };
}

/**
 * Ends the log with two checkpoints, after which older segments are no longer needed and are removed. A server's checkpointer
 * has its own configuration: it reuses segments with their old bytes unless `wal_recycle` is off there.
 */
async function endLog(db: CloudDatabase): Promise<boolean> {
  try {
    await sql.raw("set wal_recycle = off").execute(db);
    for (let time = 0; time < 2; time += 1) {
      await sql`select pg_switch_wal()`.execute(db);
      await sql.raw("checkpoint").execute(db);
    }
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.reason === "forbidden") return false;
    throw error;
  }
}
