import type { Dialect } from "kysely";
import type { SqliteConnection, SqliteOptions, SqliteStatement } from "../../core/ports/sqlite.ts";
import { type CachedStatement, createStatementCache, type DriverStatement } from "./statement-cache.ts";
import { toStoreError } from "./store-errors.ts";

/** What each runtime's file supplies; the rest is the same for all. */
export interface SqliteDriver {
  prepare(sql: string): DriverStatement;
  execute(sql: string): void;
  close(): void;
  dialect(prepare: (sql: string) => CachedStatement): Dialect;
}

/** A WAL file is cut back to this size when it starts again. */
const walSizeLimitBytes = 16 * 1024 * 1024;

/** `trusted_schema` and `cell_size_check`: a file may come from a stranger. `secure_delete`: what was deleted is gone from the file. */
function pragmas(options: SqliteOptions): string {
  const { readOnly = false, synchronous = "full", busyTimeoutMs = 5_000, lockOnly = false } = options;
  if (lockOnly) return `PRAGMA busy_timeout = ${Math.trunc(busyTimeoutMs)};`;
  return [
    `busy_timeout = ${Math.trunc(busyTimeoutMs)}`,
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "foreign_keys = ON",
    "temp_store = MEMORY",
    ...(readOnly
      ? ["query_only = ON"]
      : [
          "journal_mode = WAL",
          `journal_size_limit = ${walSizeLimitBytes}`,
          `synchronous = ${synchronous.toUpperCase()}`,
          "secure_delete = ON",
        ]),
  ]
    .map((pragma) => `PRAGMA ${pragma};`)
    .join("\n");
}

/** Makes the port's connection of a runtime's driver. Closes the driver when the file turns out unusable. */
export function createConnection(driver: SqliteDriver, options: SqliteOptions): SqliteConnection<Dialect> {
  const statements = createStatementCache((sql) => driver.prepare(sql));
  const { prepare } = statements;
  const execute = (sql: string) => {
    try {
      driver.execute(sql);
    } catch (error) {
      throw toStoreError(error);
    }
  };
  let open = true;
  const close = () => {
    if (!open) return;
    open = false;
    statements.clear();
    driver.close();
  };
  try {
    execute(pragmas(options));
    // The first read: a garbage file or a folder that can't hold the -shm file shows here, not at the first query.
    prepare("SELECT count(*) FROM sqlite_schema").all([]);
  } catch (error) {
    close();
    throw error;
  }
  return {
    dialect: driver.dialect(prepare),
    prepare: <Row>(sql: string) => prepare(sql).port as SqliteStatement<Row>,
    execute,
    transaction: (work) => {
      prepare("BEGIN IMMEDIATE").run([]);
      try {
        const result = work();
        prepare("COMMIT").run([]);
        return result;
      } catch (error) {
        try {
          prepare("ROLLBACK").run([]);
        } catch {
          // SQLite has rolled back by itself, as it does on a full disk.
        }
        throw error;
      }
    },
    close,
  };
}
