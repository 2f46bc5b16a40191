import type { SqliteStatement, SqliteValue } from "../../core/ports/sqlite.ts";
import { toStoreError } from "./store-errors.ts";

/** A driver's statement: the common part of `node:sqlite` and `bun:sqlite`. Integers are read as `bigint`. */
export interface DriverStatement {
  /** False for a statement that returns no rows. */
  readonly reader: boolean;
  run(parameters: readonly SqliteValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  all(parameters: readonly SqliteValue[]): unknown[];
  get(parameters: readonly SqliteValue[]): unknown;
  iterate(parameters: readonly SqliteValue[]): IterableIterator<unknown>;
  /** Releases the statement, if the driver does not do so when the connection closes. */
  finalize?(): void;
}

/** A prepared statement of the port, with what the Kysely dialects also need. */
export interface CachedStatement {
  readonly reader: boolean;
  readonly port: SqliteStatement;
  all(parameters: readonly SqliteValue[]): unknown[];
  run(parameters: readonly SqliteValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  iterate(parameters: readonly SqliteValue[]): IterableIterator<unknown>;
}

/** Maximum number of cached statements per connection. The oldest is released first. The store has about fifty. */
const maxStatements = 256;

const largest = BigInt(Number.MAX_SAFE_INTEGER);

/** Converts each `bigint` that is exact as a `number`, in place. */
function narrowIntegers(row: unknown): unknown {
  const cells = row as Record<string, unknown>;
  for (const name in cells) {
    const value = cells[name];
    if (typeof value === "bigint" && value <= largest && value >= -largest) cells[name] = Number(value);
  }
  return row;
}

function translateErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toStoreError(error);
  }
}

function* iterateOver(
  statement: DriverStatement,
  parameters: readonly SqliteValue[],
): IterableIterator<unknown> {
  try {
    for (const row of statement.iterate(parameters)) yield narrowIntegers(row);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    statement.finalize?.();
  }
}

function cachedStatement(statement: DriverStatement, prepareAgain: () => DriverStatement): CachedStatement {
  const run: CachedStatement["run"] = (parameters) => {
    try {
      return statement.run(parameters);
    } catch (error) {
      throw toStoreError(error);
    }
  };
  const all: CachedStatement["all"] = (parameters) =>
    translateErrors(() => {
      const rows = statement.all(parameters);
      for (const row of rows) narrowIntegers(row);
      return rows;
    });
  // A statement has one cursor. Each iteration gets its own statement, so that two iterations over the same SQL do not
  // interfere.
  const iterate: CachedStatement["iterate"] = (parameters) => iterateOver(prepareAgain(), parameters);
  return {
    reader: statement.reader,
    run,
    all,
    iterate,
    port: {
      run: (parameters) => Number(run(parameters).changes),
      all,
      get: (parameters) =>
        translateErrors(() => {
          const row = statement.get(parameters);
          return row === undefined || row === null ? null : narrowIntegers(row);
        }),
      iterate,
    },
  };
}

/** The statements of one connection. */
interface StatementCache {
  /** Prepares each SQL text once. Without the cache, a read takes six to nine times as long. */
  prepare(sql: string): CachedStatement;
  /** Releases all statements, before the connection closes. */
  clear(): void;
}

/** Creates a cache of statements on a driver's `prepare`. */
export function createStatementCache(prepare: (sql: string) => DriverStatement): StatementCache {
  const statements = new Map<string, { cached: CachedStatement; driver: DriverStatement }>();
  return {
    prepare: (sql) => {
      const known = statements.get(sql);
      if (known !== undefined) return known.cached;
      const prepareOnce = () => translateErrors(() => prepare(sql));
      const driver = prepareOnce();
      const cached = cachedStatement(driver, prepareOnce);
      if (statements.size >= maxStatements) statements.delete(statements.keys().next().value as string);
      statements.set(sql, { cached, driver });
      return cached;
    },
    clear: () => {
      for (const { driver } of statements.values()) driver.finalize?.();
      statements.clear();
    },
  };
}
