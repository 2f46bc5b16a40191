import { DatabaseSync } from "node:sqlite";
import type { SqliteOptions } from "../../core/ports/sqlite.ts";
import type { SqliteDriver } from "./driver.ts";
import { toStoreError } from "./store-errors.ts";

/** Opens `node:sqlite`, for Node and Deno, with Kysely's own dialect. */
export function openNodeSqlite(location: string, options: SqliteOptions): SqliteDriver {
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(location, { readOnly: options.readOnly ?? false, timeout: 0 });
  } catch (error) {
    throw toStoreError(error);
  }
  // Rejects direct writes to the schema table. Newer versions of Node do this by default; Node 22 lacks the method.
  (database as { enableDefensive?: (on: boolean) => void }).enableDefensive?.(true);
  return {
    prepare: (sql) => {
      const statement = database.prepare(sql);
      const reader = statement.columns().length > 0;
      if (reader) statement.setReadBigInts(true);
      // Some versions of Node 22 and of Deno lack the method.
      const hasArrays = reader && typeof statement.setReturnArrays === "function";
      if (hasArrays) statement.setReturnArrays(true);
      return {
        reader,
        ...(hasArrays && { columns: () => statement.columns().map(({ name }) => name) }),
        run: (parameters) => statement.run(...parameters),
        all: (parameters) => statement.all(...parameters),
        get: (parameters) => statement.get(...parameters),
        iterate: (parameters) => statement.iterate(...parameters),
      };
    },
    execute: (sql) => database.exec(sql),
    close: () => database.close(),
    async dialect(prepare) {
      const { SqliteDialect } = await import("kysely");
      return new SqliteDialect({ database: { close: () => {}, prepare } });
    },
  };
}
