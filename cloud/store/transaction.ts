import { sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";

/** On whose behalf a transaction runs; row-level security shows it no more than that. */
export interface TenantScope {
  readonly workspaceId?: string;
  readonly organisationId?: string;
  readonly userId?: string;
}

/** How often a transaction that lost against another is tried in all. */
const MAX_ATTEMPTS = 3;

/**
 * Runs the work in one transaction as the application's role, which owns nothing, with the scope set for just that
 * transaction. After a deadlock or a serialization failure the work is run again, so it may have no effect of its own
 * outside the database.
 */
export async function inScope<T>(
  db: CloudDatabase,
  scope: TenantScope,
  work: (trx: Transaction<CloudSchema>) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(async (trx) => {
        await sql`select
          set_config('role', 'meter_app', true),
          set_config('meter.workspace_id', ${scope.workspaceId ?? ""}, true),
          set_config('meter.organisation_id', ${scope.organisationId ?? ""}, true),
          set_config('meter.user_id', ${scope.userId ?? ""}, true)`.execute(trx);
        return await work(trx);
      });
    } catch (error) {
      const lost = error instanceof DatabaseError && error.reason === "conflict";
      if (!lost || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/**
 * For the rest of the transaction only the question whether a request's id exists anywhere can be asked: the lookup role
 * sees that column and no other.
 */
export async function becomeLookup(trx: Transaction<CloudSchema>): Promise<void> {
  await sql`select set_config('role', 'meter_lookup', true)`.execute(trx);
}

/** Moves a transaction that was opened for no workspace into one that it has found, for its rest. */
export async function enterWorkspace(trx: Transaction<CloudSchema>, workspaceId: string): Promise<void> {
  await sql`select set_config('meter.workspace_id', ${workspaceId}, true)`.execute(trx);
}

/** The same for an organisation. */
export async function enterOrganisation(
  trx: Transaction<CloudSchema>,
  organisationId: string,
): Promise<void> {
  await sql`select set_config('meter.organisation_id', ${organisationId}, true)`.execute(trx);
}
