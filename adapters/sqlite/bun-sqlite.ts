import type { Dialect } from "kysely";
import type { SqliteOptions, SqliteValue } from "../../core/ports/sqlite.ts";
import type { SqliteDriver } from "./driver.ts";
import { toStoreError } from "./store-errors.ts";

/** The used part of `bun:sqlite`, declared here because Bun's types would replace Node's in the whole project. */
interface BunStatement {
  readonly columnNames: readonly string[];
  run(...parameters: SqliteValue[]): { changes: number; lastInsertRowid: number | bigint };
  all(...parameters: SqliteValue[]): unknown[];
  get(...parameters: SqliteValue[]): unknown;
  iterate(...parameters: SqliteValue[]): IterableIterator<unknown>;
  finalize(): void;
  safeIntegers(on: boolean): void;
}
interface BunDatabase {
  prepare(sql: string): BunStatement;
  exec(sql: string): void;
  close(throwOnError?: boolean): void;
}
interface BunSqliteModule {
  Database: new (location: string, flags: number) => BunDatabase;
}
interface BunDialectModule {
  BunSqliteDialect: new (config: { database: unknown }) => Dialect;
}

/** SQLite's own flags (sqlite.org/c3ref/open.html). Bun accepts a `file:` URI only with them. */
const openReadOnly = 0x01;
const openReadWrite = 0x02 | 0x04;
const openUri = 0x40;

/** Opens `bun:sqlite` with the Kysely dialect `kysely-bun-sqlite`. */
export async function openBunSqlite(location: string, options: SqliteOptions): Promise<SqliteDriver> {
  // In a variable, because other runtimes lack this module and bundlers must not resolve it.
  const [sqliteName, dialectName] = ["bun:sqlite", "kysely-bun-sqlite"];
  const { Database } = (await import(sqliteName)) as BunSqliteModule;
  let database: BunDatabase;
  try {
    database = new Database(location, openUri | (options.readOnly === true ? openReadOnly : openReadWrite));
  } catch (error) {
    throw toStoreError(error);
  }
  return {
    prepare: (sql) => {
      const statement = database.prepare(sql);
      statement.safeIntegers(true);
      return {
        reader: statement.columnNames.length > 0,
        run: (parameters) => statement.run(...parameters),
        all: (parameters) => statement.all(...parameters),
        get: (parameters) => statement.get(...parameters),
        iterate: (parameters) => statement.iterate(...parameters),
        // With open statements, Bun closes the database later, and the WAL is not checkpointed.
        finalize: () => statement.finalize(),
      };
    },
    execute: (sql) => database.exec(sql),
    close: () => database.close(),
    async dialect(prepare) {
      const { BunSqliteDialect } = (await import(dialectName)) as BunDialectModule;
      return new BunSqliteDialect({
        database: {
          close: () => {},
          prepare: (sql: string) => {
            const { reader, all, run, iterate } = prepare(sql);
            // The dialect (0.4.0) reads the column names to find out whether there are rows, and it streams only from a
            // member `iterator`, which Bun's statements lack.
            return { columnNames: reader ? ["row"] : [], iterator: iterate, all, run, iterate };
          },
        },
      });
    },
  };
}
