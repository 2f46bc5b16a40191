import { type CloudDatabase, migrateCloud, seedRates } from "../../cloud/mod.ts";
import type { CloudLog } from "../../core/ports/cloud-log.ts";
import { BUNDLED_RATES_DATE, loadBundledRates } from "../../core/pricing/mod.ts";

/** Brings the database to this version: its tables, and the rates that come with the program. Returns the steps run. */
export async function prepareDatabase(db: CloudDatabase, log: CloudLog): Promise<readonly string[]> {
  const steps = await migrateCloud(db, Date.now());
  for (const migration of steps) log({ event: "cloud.migrated", migration });
  const rates = await seedRates(db, loadBundledRates(), Date.now());
  if (rates > 0) log({ event: "cloud.rates_seeded", rates, provenance_date: BUNDLED_RATES_DATE });
  return steps;
}
