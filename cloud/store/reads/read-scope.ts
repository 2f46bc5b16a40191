import { sql, type Transaction } from "kysely";
import type { CloudDatabase } from "../open-database.ts";
import type { CloudSchema } from "../schema.ts";
import { inScope, type TenantScope } from "../transaction.ts";

/**
 * Longest statement of a read, milliseconds; then 503. Decision: a third of what the adapter allows a statement, so that
 * questions can't keep the connections that ingest needs.
 */
export const READ_TIMEOUT_MS = 5_000;

/** Runs a read in a transaction that can't write and whose statements end in time. */
export async function inReadScope<T>(
  db: CloudDatabase,
  scope: TenantScope,
  read: (trx: Transaction<CloudSchema>) => Promise<T>,
): Promise<T> {
  return await inScope(db, scope, async (trx) => {
    await sql`select
      set_config('transaction_read_only', 'on', true),
      set_config('statement_timeout', ${String(READ_TIMEOUT_MS)}, true)`.execute(trx);
    return await read(trx);
  });
}
