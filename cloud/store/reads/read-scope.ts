import { sql, type Transaction } from "kysely";
import type { CloudDatabase } from "../open-database.ts";
import type { CloudSchema } from "../schema.ts";
import { inScope, type TenantScope } from "../transaction.ts";

/** A transaction of reads. */
export type ReadTransaction = Transaction<CloudSchema>;

/**
 * Longest statement of a read, milliseconds; a longer one ends in 503. Decision: a third of the adapter's limit, so that reads
 * cannot occupy the connections that ingest needs.
 */
export const READ_TIMEOUT_MS = 5_000;

/**
 * Runs a read in a read-only transaction with a statement timeout. Without JIT and parallel workers: compiling a statement
 * with many sums, or starting workers, takes longer than running it over the rows of the rollups.
 */
export async function inReadScope<T>(
  db: CloudDatabase,
  scope: TenantScope,
  read: (trx: ReadTransaction) => Promise<T>,
): Promise<T> {
  return await inScope(db, scope, async (trx) => {
    await sql`select
      set_config('transaction_read_only', 'on', true),
      set_config('jit', 'off', true),
      set_config('max_parallel_workers_per_gather', '0', true),
      set_config('statement_timeout', ${String(READ_TIMEOUT_MS)}, true)`.execute(trx);
    return await read(trx);
  });
}
