import { sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";

/** The tenant and person that a transaction runs for; row-level security hides all other rows. */
export interface TenantScope {
  readonly workspaceId?: string;
  readonly organisationId?: string;
  readonly userId?: string;
}

/** How often a transaction runs in all after conflicts with others. */
const MAX_ATTEMPTS = 3;

/**
 * Runs the work in one transaction, with the scope set for that transaction only, as the application's role or the purge's,
 * neither of which owns anything. After a deadlock or a serialization failure the work runs again, so it must have no effects
 * outside the database.
 */
export async function inScope<T>(
  db: CloudDatabase,
  scope: TenantScope,
  work: (trx: Transaction<CloudSchema>) => Promise<T>,
  role: "meter_app" | "meter_purge" = "meter_app",
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(async (trx) => {
        await sql`select
          set_config('role', ${role}, true),
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

/** Runs reads of one workspace in one snapshot, without a statement timeout. Writers do not wait for it. */
export async function inSnapshot<T>(
  db: CloudDatabase,
  workspaceId: string,
  read: (trx: Transaction<CloudSchema>) => Promise<T>,
): Promise<T> {
  return await db.transaction().execute(async (trx) => {
    // Must be the transaction's first statement.
    await sql.raw("set transaction isolation level repeatable read, read only").execute(trx);
    await sql`select
      set_config('role', 'meter_app', true),
      set_config('meter.workspace_id', ${workspaceId}, true),
      set_config('meter.organisation_id', '', true),
      set_config('meter.user_id', '', true),
      set_config('statement_timeout', '0', true)`.execute(trx);
    return await read(trx);
  });
}

/** Sets the role, for the rest of the transaction. */
export async function enterRole(trx: Transaction<CloudSchema>, role: "meter_app"): Promise<void> {
  await sql`select set_config('role', ${role}, true)`.execute(trx);
}

/** Sets the workspace of the transaction's scope, for the rest of the transaction. */
export async function enterWorkspace(trx: Transaction<CloudSchema>, workspaceId: string): Promise<void> {
  await sql`select set_config('meter.workspace_id', ${workspaceId}, true)`.execute(trx);
}

/** Sets the organisation of the transaction's scope, for the rest of the transaction. */
export async function enterOrganisation(
  trx: Transaction<CloudSchema>,
  organisationId: string,
): Promise<void> {
  await sql`select set_config('meter.organisation_id', ${organisationId}, true)`.execute(trx);
}
