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
  /** Returns the names of the columns, if each row is the array of its values. Absent if rows are objects. */
  columns?(): readonly string[];
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

/** Converts a `bigint` that is exact as a `number`. */
const narrow = (value: unknown): unknown =>
  typeof value === "bigint" && value <= largest && value >= -largest ? Number(value) : value;

/** Converts the integers of a row in place. */
function narrowIntegers(row: unknown): unknown {
  const cells = row as Record<string, unknown>;
  for (const name in cells) cells[name] = narrow(cells[name]);
  return row;
}

/**
 * Returns the function that converts a driver's row to one of the port. Objects that are made here from the values share one shape. Those of
 * `node:sqlite` are hash tables, which take six times the memory and twice the time.
 */
function createRowReader({ columns }: DriverStatement): (row: unknown) => unknown {
  if (columns === undefined) return narrowIntegers;
  let names: readonly string[] = [];
  let empty: Readonly<Record<string, unknown>> = {};
  return (row) => {
    const values = row as readonly unknown[];
    // Also if a column was added to a table after the statement was prepared.
    if (values.length !== names.length) {
      names = columns();
      empty = Object.fromEntries(names.map((name) => [name, null]));
    }
    const cells: Record<string, unknown> = { ...empty };
    for (let at = 0; at < names.length; at += 1) cells[names[at] as string] = narrow(values[at]);
    return cells;
  };
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
  const readRow = createRowReader(statement);
  try {
    for (const row of statement.iterate(parameters)) yield readRow(row);
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
  const readRow = createRowReader(statement);
  const all: CachedStatement["all"] = (parameters) =>
    translateErrors(() => statement.all(parameters).map(readRow));
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
          return row === undefined || row === null ? null : readRow(row);
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
