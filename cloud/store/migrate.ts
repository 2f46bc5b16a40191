import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { hasTable, isOnWorker, WorkerError } from "./cluster-node.ts";
import type { Migration } from "./migration.ts";
import { firstSchema } from "./migrations/0001-first-schema.ts";
import { accounts } from "./migrations/0002-accounts.ts";
import { promptViewTickets } from "./migrations/0003-prompt-view-tickets.ts";
import { requestLookup } from "./migrations/0004-request-lookup.ts";
import { bodyVersions } from "./migrations/0005-body-versions.ts";
import { machinePeople } from "./migrations/0006-machine-people.ts";
import { purge } from "./migrations/0007-purge.ts";
import { promptHashKey } from "./migrations/0008-prompt-hash-key.ts";
import { auditEventChain } from "./migrations/0009-audit-event-chain.ts";
import { costSeals } from "./migrations/0010-cost-seals.ts";
import { billingMode } from "./migrations/0011-billing-mode.ts";
import { sessionColumns } from "./migrations/0012-session-columns.ts";
import { blockedBy } from "./migrations/0013-blocked-by.ts";
import { limitReadings } from "./migrations/0014-limit-readings.ts";
import { administration } from "./migrations/0015-administration.ts";
import { bodyKeys } from "./migrations/0016-body-keys.ts";
import { budgets } from "./migrations/0017-budgets.ts";
import { settingsOnlyPolicies } from "./migrations/0018-settings-only-policies.ts";
import { sessionIndex } from "./migrations/0019-session-index.ts";
import { coverage } from "./migrations/0020-coverage.ts";
import { directory } from "./migrations/0021-directory.ts";
import { savedViews } from "./migrations/0022-saved-views.ts";
import { weeklySummaries } from "./migrations/0023-weekly-summaries.ts";
import { limitStates } from "./migrations/0024-limit-states.ts";
import { branchSums } from "./migrations/0025-branch-sums.ts";
import { restores } from "./migrations/0026-restores.ts";
import { requestLookupOnACluster } from "./migrations/0027-request-lookup-on-a-cluster.ts";
import { unsealedBodies } from "./migrations/0028-unsealed-bodies.ts";
import { coverageDays } from "./migrations/0029-coverage-days.ts";
import { modelSums } from "./migrations/0030-model-sums.ts";
import { summedSeals } from "./migrations/0031-summed-seals.ts";
import { erasedRows } from "./migrations/0032-erased-rows.ts";
import { forgottenAddresses } from "./migrations/0033-forgotten-addresses.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";

/** Every migration, in order. New ones go at the end. */
export const CLOUD_MIGRATIONS: readonly Migration[] = [
  firstSchema,
  accounts,
  promptViewTickets,
  requestLookup,
  bodyVersions,
  machinePeople,
  purge,
  promptHashKey,
  auditEventChain,
  costSeals,
  billingMode,
  sessionColumns,
  blockedBy,
  limitReadings,
  administration,
  bodyKeys,
  budgets,
  settingsOnlyPolicies,
  sessionIndex,
  coverage,
  directory,
  savedViews,
  weeklySummaries,
  limitStates,
  branchSums,
  restores,
  requestLookupOnACluster,
  unsealedBodies,
  coverageDays,
  modelSums,
  summedSeals,
  erasedRows,
  forgottenAddresses,
];

/** The advisory lock's key: an arbitrary number that must not change. */
const MIGRATION_LOCK = 7_303_014;

/**
 * Migrates the database to this code's schema and returns the names of the migrations that ran. They run in one transaction,
 * all or none, under a lock that makes other instances wait. Migrations of a newer version are ignored: its schema serves
 * this code too.
 *
 * Run it as the role that owns the tables. Row-level security raises an error instead of hiding rows, so that a migration
 * that fills in rows cannot silently skip them. Throws a `WorkerError` on a worker of a cluster if a migration has not run yet.
 */
export async function migrateCloud(
  db: CloudDatabase,
  now: Millis,
  migrations: readonly Migration[] = CLOUD_MIGRATIONS,
): Promise<readonly string[]> {
  return await db.transaction().execute(async (trx) => {
    // A worker would keep the tables to itself, or refuse to change them.
    if (await isOnWorker(trx)) {
      const isUpToDate =
        (await hasTable(trx, "cloud_migrations")) && (await listMissing(trx, migrations)).length === 0;
      if (isUpToDate) return [];
      throw new WorkerError();
    }
    await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK}::bigint)`.execute(trx);
    await sql`set local statement_timeout = 0`.execute(trx);
    await sql`set local row_security = off`.execute(trx);
    await sql`create table if not exists cloud_migrations (
      name text primary key, applied_at timestamptz(3) not null
    )`.execute(trx);
    const missing = await listMissing(trx, migrations);
    for (const { name, statements } of missing) {
      for (const statement of statements) await sql.raw(statement).execute(trx);
      await trx.insertInto("cloud_migrations").values({ name, applied_at: now }).execute();
    }
    // For a server that logs in with less than its owner's rights: what `isMigrated()` reads.
    if (missing.length > 0) await sql`grant select on cloud_migrations to public`.execute(trx);
    return missing.map(({ name }) => name);
  });
}

/** Whether every migration has run. A server checks this before it accepts requests. */
export async function isMigrated(
  db: CloudDatabase,
  migrations: readonly Migration[] = CLOUD_MIGRATIONS,
): Promise<boolean> {
  const missing = await db.transaction().execute((trx) => listMissing(trx, migrations));
  return missing.length === 0;
}

/** Lists the migrations that have not run. */
async function listMissing(
  trx: Transaction<CloudSchema>,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  const rows = await trx.selectFrom("cloud_migrations").select("name").execute();
  const applied = new Set(rows.map(({ name }) => name));
  return migrations.filter(({ name }) => !applied.has(name));
}
