import { distributeNewTables } from "../../cloud/store/distribute.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import type { CloudDatabase } from "../../cloud/store/open-database.ts";
import { seedRates } from "../../cloud/store/rates.ts";
import type { CloudLog } from "../../core/ports/cloud-log.ts";
import { BUNDLED_RATES_DATE } from "../../core/pricing/bundled-rates.data.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";

/** Migrates the tables to this version and stores the bundled rates. Returns the names of the migrations that ran. */
export async function prepareDatabase(db: CloudDatabase, log: CloudLog): Promise<readonly string[]> {
  const steps = await migrateCloud(db, Date.now());
  // On a cluster, tables of a new version are distributed too. Also without a step: the process that ran it may have been killed.
  const distribution = await distributeNewTables(db);
  if (distribution?.kind === "different")
    throw new Error(`the table ${distribution.table} has other rows or sums after its distribution`);
  for (const migration of steps) log({ event: "cloud.migrated", migration });
  const rates = await seedRates(db, loadBundledRates(), Date.now());
  if (rates > 0) log({ event: "cloud.rates_seeded", rates, provenance_date: BUNDLED_RATES_DATE });
  return steps;
}
