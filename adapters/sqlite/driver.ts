import type { Dialect } from "kysely";
import type { SqliteConnection, SqliteOptions, SqliteStatement } from "../../core/ports/sqlite.ts";
import { type CachedStatement, createStatementCache, type DriverStatement } from "./statement-cache.ts";
import { toStoreError } from "./store-errors.ts";

/** The part of a driver that differs between runtimes. */
export interface SqliteDriver {
  prepare(sql: string): DriverStatement;
  execute(sql: string): void;
  close(): void;
  dialect(prepare: (sql: string) => CachedStatement): Promise<Dialect>;
}

/** Size to which a WAL file is truncated when it is reset, in bytes. */
const walSizeLimitBytes = 16 * 1024 * 1024;

/**
 * `trusted_schema` and `cell_size_check`: the file may come from an untrusted source. `secure_delete`: deleted data is
 * overwritten in the file.
 */
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

/** Creates the port's connection on a runtime's driver. Closes the driver if the file is unusable. */
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
  let dialect: Promise<Dialect> | null = null;
  let open = true;
  const close = () => {
    if (!open) return;
    open = false;
    statements.clear();
    driver.close();
  };
  try {
    execute(pragmas(options));
    // The first read, so that an invalid file or a folder without room for the -shm file fails here and not at the first
    // query.
    prepare("SELECT count(*) FROM sqlite_schema").all([]);
  } catch (error) {
    close();
    throw error;
  }
  const runBetween = <T>(begin: string, work: () => T): T => {
    prepare(begin).run([]);
    try {
      const result = work();
      prepare("COMMIT").run([]);
      return result;
    } catch (error) {
      try {
        prepare("ROLLBACK").run([]);
      } catch {
        // SQLite has already rolled back, for example because the disk is full.
      }
      throw error;
    }
  };
  return {
    dialect: () => (dialect ??= driver.dialect(prepare)),
    prepare: <Row>(sql: string) => prepare(sql).port as SqliteStatement<Row>,
    execute,
    transaction: (work) => runBetween("BEGIN IMMEDIATE", work),
    snapshot: (read) => runBetween("BEGIN", read),
    close,
  };
}
