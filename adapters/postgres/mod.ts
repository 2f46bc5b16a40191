/**
 * Opens PostgreSQL for Kysely, behind the port `core/ports/postgres`: a server through postgres.js, or PGlite in this
 * process, in a folder or in memory. PGlite is an optional peer (`npm install @electric-sql/pglite`). Both read values the
 * same way and throw the port's `DatabaseError`.
 *
 * ```ts
 * import { openPgliteInMemory } from "./mod.ts";
 *
 * const database = openPgliteInMemory(); // for `openCloudDatabase`; `database.dialect` is for your own Kysely
 * console.log(typeof database.dialect.createDriver); // "function"
 * ```
 *
 * @module
 */
export { openPgliteFolder, openPgliteInMemory } from "./pglite.ts";
export { openPostgres, type PostgresServerOptions } from "./postgres-server.ts";
