import { DatabaseSync } from "node:sqlite";
import { SqliteDialect } from "kysely";
import type { SqliteOptions } from "../../core/ports/sqlite.ts";
import type { SqliteDriver } from "./driver.ts";
import { toStoreError } from "./store-errors.ts";

/** `node:sqlite`, for Node and Deno. */
export function openNodeSqlite(location: string, options: SqliteOptions): SqliteDriver {
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(location, { readOnly: options.readOnly ?? false, timeout: 0 });
  } catch (error) {
    throw toStoreError(error);
  }
  // Refuses writes to the schema table itself; newer Node has it on anyway, Node 22 lacks the method.
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
    dialect: (prepare) =>
      new SqliteDialect({
        database: {
          close: () => {},
          prepare,
        },
      }),
  };
}
