/**
 * Implements the port `core/ports/sqlite.ts`: `node:sqlite` on Node and Deno, `bun:sqlite` with `kysely-bun-sqlite` on Bun,
 * chosen when the first file is opened. Statements are cached, integers are exact, and errors of the driver become
 * `StoreError`s.
 *
 * ```ts
 * import { createSqliteOpener } from "./adapters/sqlite/mod.ts";
 *
 * const connection = await createSqliteOpener().open(":memory:", { synchronous: "normal" });
 * connection.prepare("SELECT 1 AS one").get([]); // { one: 1 }
 * connection.close();
 * ```
 */
export { createSqliteOpener } from "./open-sqlite.ts";
