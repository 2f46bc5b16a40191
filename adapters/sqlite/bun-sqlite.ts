import type { Dialect } from "kysely";
import type { SqliteOptions, SqliteValue } from "../../core/ports/sqlite.ts";
import type { SqliteDriver } from "./driver.ts";
import { toStoreError } from "./store-errors.ts";

/** The part of `bun:sqlite` in use: declared here, because Bun's types would replace Node's in the whole tree. */
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

/** SQLite's own flags (sqlite.org/c3ref/open.html): only through them does Bun take a `file:` address. */
const openReadOnly = 0x01;
const openReadWrite = 0x02 | 0x04;
const openUri = 0x40;

/** `bun:sqlite` below Kysely's `kysely-bun-sqlite`, for Bun. */
export async function openBunSqlite(location: string, options: SqliteOptions): Promise<SqliteDriver> {
  // By variable: other runtimes have no such module, and tools should not look for it.
  const [sqliteName, dialectName] = ["bun:sqlite", "kysely-bun-sqlite"];
  const { Database } = (await import(sqliteName)) as BunSqliteModule;
  const { BunSqliteDialect } = (await import(dialectName)) as BunDialectModule;
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
        // With statements left, Bun closes later, and the WAL is not written back.
        finalize: () => statement.finalize(),
      };
    },
    execute: (sql) => database.exec(sql),
    close: () => database.close(),
    dialect: (prepare) =>
      new BunSqliteDialect({
        database: {
          close: () => {},
          prepare: (sql: string) => {
            const { reader, all, run, iterate } = prepare(sql);
            // The dialect (0.4.0) asks for column names to know whether there are rows, and streams only where it
            // finds a member `iterator`, which Bun's own statements don't have.
            return { columnNames: reader ? ["row"] : [], iterator: iterate, all, run, iterate };
          },
        },
      }),
  };
}
