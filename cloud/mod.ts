/**
 * The cloud: what `{base_url}` answers, on PostgreSQL 15 or later, a server or embedded. It reaches everything through
 * the ports that it is given.
 *
 * ```ts
 * import { openPgliteInMemory } from "../adapters/postgres/mod.ts";
 * import { migrateCloud, openCloudDatabase } from "./mod.ts";
 *
 * const db = openCloudDatabase(openPgliteInMemory());
 * console.log(await migrateCloud(db, Date.now())); // ["0001-first-schema"]
 * await db.destroy();
 * ```
 *
 * @module
 */
export { CLOUD_MIGRATIONS, type Migration, migrateCloud } from "./store/migrate.ts";
export { type CloudDatabase, openCloudDatabase } from "./store/open-database.ts";
export type { CloudSchema } from "./store/schema.ts";
