import type { DatabaseConnection, Dialect, Driver } from "kysely";
import { MissingPackageError } from "../optional-packages.ts";
import { toDatabaseError } from "./database-errors.ts";

/** Returns the dialect with the port's errors. */
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
  /** Patches the connection itself: drivers keep private state on it, so a wrapper cannot replace it. */
  function patch(connection: DatabaseConnection): DatabaseConnection {
    if (seen.has(connection)) return connection;
    seen.add(connection);
    const executeQuery = connection.executeQuery.bind(connection);
    connection.executeQuery = (query, options) => translateErrors(executeQuery(query, options));
    return connection;
  }
  return {
    init: (options) => translateErrors(driver.init(options)),
    acquireConnection: async (options) => patch(await translateErrors(driver.acquireConnection(options))),
    releaseConnection: (connection, options) => driver.releaseConnection(connection, options),
    beginTransaction: (connection, settings) =>
      translateErrors(driver.beginTransaction(connection, settings)),
    commitTransaction: (connection) => translateErrors(driver.commitTransaction(connection)),
    rollbackTransaction: (connection) => translateErrors(driver.rollbackTransaction(connection)),
    destroy: (options) => driver.destroy(options),
  };
}

async function translateErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // The message of a missing package has the command that installs it.
    throw error instanceof MissingPackageError ? error : toDatabaseError(error);
  }
}
