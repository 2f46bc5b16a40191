import type { DatabaseConnection, Dialect, Driver } from "kysely";
import { toDatabaseError } from "./database-errors.ts";

/** The same dialect with the port's errors. */
export function translatingDialect(dialect: Dialect): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => translatingDriver(dialect.createDriver()),
  };
}

function translatingDriver(driver: Driver): Driver {
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
    acquireConnection: async (options) => patch(await translated(driver.acquireConnection(options))),
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
