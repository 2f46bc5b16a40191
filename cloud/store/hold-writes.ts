import { sql } from "kysely";
import { isDistributed } from "./distribute.ts";
import type { CloudDatabase } from "./open-database.ts";
import { TABLE_PLACES } from "./table-places.ts";

/** How often the locks are tried, since transactions that write can take theirs in another order. */
const ATTEMPTS = 20;

/** How long an attempt waits for transactions that write, milliseconds. New ones wait meanwhile. */
const LOCK_TIMEOUT_MS = 3_000;

/**
 * Runs work while nothing is written to a distributed database through any node, so that the snapshots of all shards are of one state. Reads
 * continue; writes wait, and fail after their statement timeout. On a database that is not distributed, nothing waits: one snapshot is enough.
 */
export async function holdingWrites<T>(db: CloudDatabase, work: () => Promise<T>): Promise<T> {
  if (!(await isDistributed(db))) return await work();
  for (let attempt = 1; ; attempt += 1) {
    const locks = { held: false };
    try {
      return await db.transaction().execute(async (trx) => {
        await sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`).execute(trx);
        await sql`set local statement_timeout = 0`.execute(trx);
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
        await sql.raw(`lock table ${Object.keys(TABLE_PLACES).join(", ")} in share mode`).execute(trx);
        locks.held = true;
        return await work();
      });
    } catch (error) {
      if (locks.held || attempt === ATTEMPTS) throw error;
    }
  }
}
