import { DatabaseSync } from "node:sqlite";
import type { SqliteDialect } from "kysely";
import type { SqliteOptions } from "../../core/ports/sqlite.ts";
import type { SqliteDriver } from "./driver.ts";
import { toStoreError } from "./store-errors.ts";

/**
 * Opens `node:sqlite`, for Node and Deno. `kysely` is null for a connection that only holds a lock: a daemon takes its lock first,
 * and serves clients before it loads Kysely.
 */
export function openNodeSqlite(
  location: string,
  options: SqliteOptions,
  kysely: { readonly SqliteDialect: typeof SqliteDialect } | null,
): SqliteDriver {
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
      return {
        reader,
        run: (parameters) => statement.run(...parameters),
        all: (parameters) => statement.all(...parameters),
        get: (parameters) => statement.get(...parameters),
        iterate: (parameters) => statement.iterate(...parameters),
      };
    },
    execute: (sql) => database.exec(sql),
    close: () => database.close(),
    dialect: (prepare) => {
      if (kysely === null) throw new Error("this connection only holds a lock");
      return new kysely.SqliteDialect({
        database: {
          close: () => {},
          prepare,
        },
      });
    },
  };
}
