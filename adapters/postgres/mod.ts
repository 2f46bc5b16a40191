/**
 * PostgreSQL for Kysely, behind the port of `core/ports/postgres`: a server by postgres.js, or PGlite in this process,
 * in a folder or in memory. Both read values alike and throw the port's `DatabaseError`.
 *
 * ```ts
 * import { openPgliteInMemory } from "./mod.ts";
 *
 * const database = openPgliteInMemory(); // what `openCloudDatabase` takes; `database.dialect` is for a Kysely of your own
 * console.log(typeof database.dialect.createDriver); // "function"
 * ```
 *
 * @module
 */
export { openPgliteFolder, openPgliteInMemory } from "./pglite.ts";
export { openPostgres, type PostgresServerOptions } from "./postgres-server.ts";
