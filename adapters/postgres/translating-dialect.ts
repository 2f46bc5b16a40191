import type { DatabaseConnection, Dialect, Driver } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import { toDatabaseError } from "./database-errors.ts";

/** How long a caller waits for a free connection. */
export interface AcquireLimit {
  readonly timeoutMs: number;
  setTimer(delayMs: number, run: () => void): () => void;
}

/**
 * The same dialect with the port's errors, and with a bound on the wait for a connection: without one, a pool that is
 * used up keeps every caller waiting for ever.
 */
export function translatingDialect(dialect: Dialect, acquireLimit: AcquireLimit | null): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => translatingDriver(dialect.createDriver(), acquireLimit),
  };
}

function translatingDriver(driver: Driver, acquireLimit: AcquireLimit | null): Driver {
  const seen = new WeakSet<DatabaseConnection>();
  /** Patches the connection itself: drivers keep private state on it, so that nothing can stand in its place. */
  function patch(connection: DatabaseConnection): DatabaseConnection {
    if (seen.has(connection)) return connection;
    seen.add(connection);
    const executeQuery = connection.executeQuery.bind(connection);
    connection.executeQuery = (query, options) => translated(executeQuery(query, options));
    return connection;
  }
  return {
    init: (options) => translated(driver.init(options)),
    acquireConnection: async (options) => {
      const acquired = driver.acquireConnection(options);
      const inTime = acquireLimit === null ? acquired : within(acquired, driver, acquireLimit);
      return patch(await translated(inTime));
    },
    releaseConnection: (connection, options) => driver.releaseConnection(connection, options),
    beginTransaction: (connection, settings) => translated(driver.beginTransaction(connection, settings)),
    commitTransaction: (connection) => translated(driver.commitTransaction(connection)),
    rollbackTransaction: (connection) => translated(driver.rollbackTransaction(connection)),
    destroy: (options) => driver.destroy(options),
  };
}

async function translated<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toDatabaseError(error);
  }
}

/** The connection, or an error when none comes in time; one that comes late goes straight back. */
function within(
  acquired: Promise<DatabaseConnection>,
  driver: Driver,
  limit: AcquireLimit,
): Promise<DatabaseConnection> {
  return new Promise((resolve, reject) => {
    let late = false;
    const cancel = limit.setTimer(limit.timeoutMs, () => {
      late = true;
      reject(new DatabaseError("unavailable", { message: "no connection became free in time" }));
    });
    acquired.then(
      (connection) => {
        cancel();
        if (late) void driver.releaseConnection(connection).catch(() => {});
        else resolve(connection);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
